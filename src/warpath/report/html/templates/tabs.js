// The path: stages are tabs. Arrow keys, Home and End move; the chosen stage's details are shown below.
function walkPath(article) {
  const list = article.querySelector('[role="tablist"]');
  const tabs = [...list.querySelectorAll('[role="tab"]')];
  const choose = (tab) => {
    for (const each of tabs) {
      const chosen = each === tab;
      each.setAttribute("aria-selected", String(chosen));
      each.tabIndex = chosen ? 0 : -1;
      article.querySelector(`#${each.getAttribute("aria-controls")}`).hidden = !chosen;
    }
  };
  list.addEventListener("click", (event) => {
    const tab = event.target.closest('[role="tab"]');
    if (tab) choose(tab);
  });
  list.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(document.activeElement);
    const next = {
      ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: tabs.length - 1,
    }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    const tab = tabs[(next + tabs.length) % tabs.length];
    choose(tab);
    tab.focus();
  });
}
