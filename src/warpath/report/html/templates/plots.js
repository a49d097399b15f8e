// Plots are drawn when they come into view: plotly is unpacked once, then. Colours are read from the style sheet.
let plotlyReady = null;

function loadPlotly() {
  plotlyReady ??= (async () => {
    const packed = Uint8Array.from(atob(document.getElementById("plotly-packed").textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const element = document.createElement("script");
    element.textContent = await new Response(stream).text();
    document.head.append(element);
  })();
  return plotlyReady;
}

function coloured(value, style) {
  if (typeof value === "string" && value.startsWith("@")) return style.getPropertyValue(`--${value.slice(1)}`).trim();
  if (Array.isArray(value)) return value.length && typeof value[0] === "object" && value[0] ? value.map((v) => coloured(v, style)) : value;
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, coloured(each, style)]));
  }
  return value;
}

function axis(own, style) {
  const title = own.title ? { text: own.title, standoff: 8 } : undefined;
  return {
    gridcolor: style.getPropertyValue("--rule").trim(), linecolor: style.getPropertyValue("--grey").trim(),
    zeroline: false, automargin: true, ...own, title,
  };
}

const figuresOf = new Map(); // launch -> its plots, decoded when the first is drawn
function figureOf(element) {
  const { launch } = element.closest("article").dataset;
  if (!figuresOf.has(launch)) {
    figuresOf.set(launch, JSON.parse(document.querySelector(`script.plots[data-launch="${launch}"]`).textContent));
  }
  return figuresOf.get(launch)[element.dataset.plot];
}

async function draw(element) {
  await loadPlotly();
  if (!element.clientWidth) return; // hidden meanwhile
  const style = getComputedStyle(document.documentElement);
  const { data, layout } = figureOf(element);
  const traces = coloured(data, style);
  await Plotly.react(element, traces, {
    ...layout,
    xaxis: axis(layout.xaxis, style), yaxis: axis(layout.yaxis, style),
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: style.getPropertyValue("--soft").trim() },
    margin: { l: 48, r: 12, t: 8, b: 44 }, hovermode: "closest",
    showlegend: traces.some((trace) => trace.showlegend !== false) && traces.length > 1,
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", xanchor: "left" },
    hoverlabel: { font: { family: getComputedStyle(document.body).fontFamily } },
  }, { displayModeBar: false, responsive: true });
  element.dataset.drawn = "true";
}

const near = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting && !entry.target.dataset.drawn) draw(entry.target);
}, { rootMargin: "200px 0px" });

function drawWhenSeen(article) {
  for (const plot of article.querySelectorAll(".plot")) near.observe(plot);
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const plot of document.querySelectorAll(".plot[data-drawn]")) draw(plot);
});
