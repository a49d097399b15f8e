// Source, PTX and SASS are linked by `data-key`, the source line: pointing at a line marks its kin in all three.
function linkCode(article) {
  const panes = article.querySelector(".code-panes");
  const detail = article.querySelector(".detail");
  const boxes = [...panes.querySelectorAll(".lines")];
  const lines = [...panes.querySelectorAll(".line[role=option]")];

  const intoView = (line) => {
    const box = line.closest(".lines");
    const top = line.offsetTop, bottom = top + line.offsetHeight;
    if (top < box.scrollTop) box.scrollTop = top - 8;
    else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight + 8;
  };
  const link = (line) => {
    for (const each of lines) {
      const kin = each === line || (line.dataset.key !== undefined && each.dataset.key === line.dataset.key);
      each.classList.toggle("linked", kin);
    }
    for (const box of boxes) {
      const kin = box.contains(line) ? null : box.querySelector(".line.linked");
      if (kin) intoView(kin);
    }
    if (line.dataset.detail) detail.textContent = `${line.querySelector("code").textContent}: ${line.dataset.detail}`;
  };
  const choose = (box, line) => {
    const before = box.querySelector(".chosen");
    before?.classList.remove("chosen");
    before?.removeAttribute("aria-selected");
    line.classList.add("chosen");
    line.setAttribute("aria-selected", "true");
    line.id ||= `line-${lines.indexOf(line)}-${article.id}`;
    box.setAttribute("aria-activedescendant", line.id);
    intoView(line);
    link(line);
  };

  panes.addEventListener("mouseover", (event) => {
    const line = event.target.closest(".line[role=option]");
    if (line) link(line);
  });
  for (const box of boxes) {
    const own = lines.filter((line) => box.contains(line));
    box.addEventListener("click", (event) => {
      const line = event.target.closest(".line[role=option]");
      if (line) choose(box, line);
    });
    box.addEventListener("keydown", (event) => {
      const at = own.indexOf(box.querySelector(".chosen"));
      const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: own.length - 1 }[event.key];
      if (next === undefined || !own.length) return;
      event.preventDefault();
      choose(box, own[Math.max(0, Math.min(own.length - 1, next))]);
    });
  }
}
