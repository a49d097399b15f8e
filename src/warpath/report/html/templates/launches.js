// Which launch is shown, and which of its views the reader is in.
const content = document.getElementById("content");
const texts = new Map([...document.querySelectorAll(".launch-text")].map((text) => [text.dataset.launch, text]));

const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    for (const link of entry.target.closest("article").querySelectorAll(".views a")) {
      if (link.hash === `#${entry.target.id}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }
}, { rootMargin: "-15% 0px -75% 0px" });

function bringIn(launch) {
  content.insertAdjacentHTML("beforeend", texts.get(launch).textContent);
  const article = document.getElementById(`l${launch}`);
  for (const prepare of [walkPath, linkCode, chooseMap, drawWhenSeen]) prepare(article);
  for (const view of article.querySelectorAll("[data-view]")) seen.observe(view);
}

function showLaunch(launch) {
  if (!document.getElementById(`l${launch}`)) bringIn(launch);
  for (const article of content.querySelectorAll("article")) article.hidden = article.dataset.launch !== launch;
  for (const row of document.querySelectorAll(".launches tbody tr")) {
    row.classList.toggle("current", row.dataset.index === launch);
  }
}

const picks = [...document.querySelectorAll(".launches .pick")];
for (const pick of picks) {
  pick.addEventListener("click", () => {
    showLaunch(pick.dataset.launch);
    content.scrollIntoView({ block: "start" });
  });
  pick.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    picks[picks.indexOf(pick) + step]?.focus();
  });
}

if (texts.size) {
  const asked = /^#l(\d+)/.exec(location.hash)?.[1]; // a link to a view of a launch
  showLaunch(texts.has(asked) ? asked : content.dataset.first);
  if (texts.has(asked)) document.querySelector(location.hash)?.scrollIntoView();
}
