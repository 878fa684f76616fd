// Leaves the chapters and claims in which all words occur, and opens the chapter that a link leads to.
"use strict";
{
  const place = document.querySelector("search");
  const field = place.querySelector("input");
  const low = (node) => node.textContent.toLowerCase();
  const records = "main > details:not(#drag, #numbers)";
  const chapters = [...document.querySelectorAll(records)].map((one) => {
    const title = low(one.querySelector("h2"));
    const claims = [...one.querySelectorAll(".claims > li")].map((claim) => ({ id: claim.id, text: title + low(claim) }));
    return { id: one.id, text: low(one), claims };
  });
  const shown = document.querySelectorAll(
    `${records}, .claims > li, nav ol > li, .chart > li, .dot, .verdicts tbody tr`,
  );
  const leadsTo = (one) => one.id || (one.matches("a") ? one : one.querySelector("a")).getAttribute("href").slice(1);

  const find = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (one) => words.every((word) => one.text.includes(word));
    const found = chapters.filter(has);
    // Where the words stand in a caption or a note, and in no claim, the chapter is shown whole.
    const claims = found.flatMap((one) => (one.claims.some(has) ? one.claims.filter(has) : one.claims));
    const left = new Set([...found, ...claims].map((one) => one.id));
    for (const one of shown) one.classList.toggle("unfound", !left.has(leadsTo(one)));
    const count = (number, thing) => `${number} ${thing}${number === 1 ? "" : "s"}`;
    place.querySelector("output").textContent =
      words.length ? `${count(claims.length, "claim")} in ${count(found.length, "chapter")}` : "";
  };
  field.addEventListener("input", find);
  place.hidden = false;
  if (field.value) find(); // a browser that goes back fills it in again

  const open = () => {
    const chapter = document.getElementById(location.hash.slice(1));
    if (chapter?.matches("details")) chapter.open = true;
  };
  addEventListener("hashchange", open);
  open();
}
