// Which launch is shown, and which of its views the reader is in.
const articles = [...document.querySelectorAll("article.launch")];

function showLaunch(index) {
  for (const article of articles) article.hidden = Number(article.dataset.launch) !== index;
  for (const row of document.querySelectorAll(".launches tbody tr")) {
    row.classList.toggle("current", Number(row.dataset.index) === index);
  }
}

const picks = [...document.querySelectorAll(".launches .pick")];
for (const pick of picks) {
  pick.addEventListener("click", () => {
    showLaunch(Number(pick.dataset.launch));
    document.getElementById("content").scrollIntoView({ block: "start" });
  });
  pick.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    picks[picks.indexOf(pick) + step]?.focus();
  });
}

const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    const links = entry.target.closest("article").querySelectorAll(".views a");
    for (const link of links) {
      if (link.hash === `#${entry.target.id}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }
}, { rootMargin: "-15% 0px -75% 0px" });
for (const view of document.querySelectorAll("[data-view]")) seen.observe(view);

const asked = /^#l(\d+)/.exec(location.hash);
const known = asked && articles.some((article) => article.dataset.launch === asked[1]);
if (articles.length) showLaunch(known ? Number(asked[1]) : firstLaunch);
