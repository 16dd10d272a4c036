// Countdowns, live parts, keys and copying. Everything else works without this script.
"use strict";
(() => {
  const skew = Date.parse(document.body.dataset.now) - Date.now();
  const now = () => Date.now() + skew;

  // Times in the reader's own zone.
  const localize = (root) => {
    for (const el of root.querySelectorAll("time[data-local]")) {
      const at = new Date(el.dateTime);
      el.title = el.textContent;
      el.textContent = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: el.dataset.local || "medium" });
    }
    for (const el of root.querySelectorAll("[data-copy]")) el.hidden = false;
  };

  const words = (ms) => {
    const s = Math.ceil(ms / 1000), pad = (n) => String(n).padStart(2, "0");
    if (s >= 172800) return Math.floor(s / 86400) + " days left";
    const min = Math.floor(s / 60) % 60;
    if (s >= 3600) return Math.floor(s / 3600) + " h " + (min ? min + " min " : "") + "left";
    return Math.floor(s / 60) + ":" + pad(s % 60) + " left";
  };

  // When the time is over the answer can no longer be given: the server would refuse it.
  const over = () => {
    document.getElementById("confirm")?.close();
    document.getElementById("answer")?.remove();
  };

  const tick = () => {
    for (const el of document.querySelectorAll("[data-deadline]")) {
      const left = Date.parse(el.dataset.deadline) - now();
      const text = left > 0 ? words(left) : "time is over";
      if (el.textContent !== text) el.textContent = text;
      el.classList.toggle("soon", left < 60000);
      if (left <= 0 && el.closest("[data-state]")) over();
    }
  };

  // Live parts: one connection a page, none while nobody looks at it.
  const follow = (host, shown) => {
    const live = document.getElementById("live"), parsed = document.createElement("template");
    let source = null, final = "final" in host.dataset, timer = 0;
    const stop = () => { source?.close(); source = null; clearTimeout(timer); };
    const start = () => {
      stop();
      if (final || document.hidden) return;
      source = new EventSource(host.dataset.live);
      source.addEventListener("update", (event) => {
        const told = JSON.parse(event.data);
        parsed.innerHTML = told.html;
        if (shown !== parsed.innerHTML.trim()) {
          shown = parsed.innerHTML.trim();
          live.innerHTML = shown;
          localize(live);
        }
        if (host.dataset.state) host.dataset.state = told.state;
        if (host.dataset.state && told.state !== "pending") over();
        if (host.dataset.title) document.title = (told.count ? "(" + told.count + ") " : "") + host.dataset.title;
        tick();
        if (told.final) { final = true; stop(); }
      });
      source.addEventListener("over", () => { stop(); location.reload(); });
      source.onerror = () => { if (source?.readyState === EventSource.CLOSED) timer = setTimeout(start, 5000); };
    };
    document.addEventListener("visibilitychange", start);
    addEventListener("pagehide", stop);
    addEventListener("pageshow", start);
    start();
  };

  const copy = async (button) => {
    const el = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(el.textContent);
      button.textContent = "Copied";
    } catch {
      const range = document.createRange();
      range.selectNodeContents(el);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = "Selected: copy it";
    }
  };

  // Keys ask first: one that was hit by accident must not decide.
  const keys = (form, dialog) => {
    let button = null;
    const ask = (action) => {
      button = form.querySelector('button[value="' + action + '"]');
      if (!button) return;
      const verb = button.firstChild.textContent.trim();
      document.getElementById("confirm-text").textContent = verb + " " + form.dataset.address + "?";
      dialog.querySelector("[data-yes]").textContent = "Yes, " + verb.toLowerCase();
      dialog.showModal();
    };
    const actions = { a: "accept", d: "decline", c: "cancel" };
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || dialog.open || !form.isConnected) return;
      if (event.target.closest("input, textarea, select, [contenteditable]")) {
        if (event.key === "Escape") event.target.blur();
        return;
      }
      const action = actions[event.key.toLowerCase()];
      if (action) { event.preventDefault(); ask(action); }
    });
    dialog.querySelector("[data-no]").addEventListener("click", () => dialog.close());
    dialog.querySelector("[data-yes]").addEventListener("click", () => {
      dialog.close();
      if (form.isConnected && button) form.requestSubmit(button);
    });
    // Sent once: a second click must not look like a second answer.
    form.addEventListener("submit", () => {
      setTimeout(() => { for (const each of form.querySelectorAll("button")) each.disabled = true; });
    });
    addEventListener("pageshow", () => { for (const each of form.querySelectorAll("button")) each.disabled = false; });
  };

  const host = document.querySelector("[data-live]");
  const asSent = document.getElementById("live")?.innerHTML.trim();
  localize(document);
  tick();
  setInterval(tick, 500);
  if (host) follow(host, asSent);
  const form = document.getElementById("answer"), dialog = document.getElementById("confirm");
  if (form && dialog) keys(form, dialog);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button) copy(button);
  });
})();
