// The map of the instruction that is chosen.
for (const choice of document.querySelectorAll(".sector-choice")) {
  choice.addEventListener("change", () => {
    for (const map of choice.closest("section").querySelectorAll(".sector-map")) map.hidden = map.dataset.pc !== choice.value;
  });
}
