// The map of the instruction that is chosen.
function chooseMap(article) {
  const maps = article.querySelectorAll(".sector-map");
  article.querySelector(".sector-choice")?.addEventListener("change", (event) => {
    for (const map of maps) map.hidden = map.dataset.pc !== event.target.value;
  });
}
