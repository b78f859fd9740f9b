"use strict";
(() => {
  const root = document.documentElement, button = document.getElementById("theme");
  const show = (theme) => {
    root.dataset.theme = theme;
    button.textContent = theme === "dark" ? "Light" : "Dark";
    root.dispatchEvent(new Event("theme"));
  };
  const system = matchMedia("(prefers-color-scheme: dark)");
  show(system.matches ? "dark" : "light");
  system.addEventListener("change", () => show(system.matches ? "dark" : "light"));
  button.addEventListener("click", () => show(root.dataset.theme === "dark" ? "light" : "dark"));
})();
