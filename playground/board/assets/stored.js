/** What outlives reruns and page changes, but not the browser tab. */

/** @param {string} name @param {(value: unknown) => boolean} isValid @returns what was kept, or null */
export function stored(name, isValid) {
  try {
    const value = JSON.parse(sessionStorage.getItem(`attention-playground.${name}`));
    return isValid(value) ? value : null;
  } catch {
    return null;
  }
}

export function store(name, value) {
  try {
    sessionStorage.setItem(`attention-playground.${name}`, JSON.stringify(value));
  } catch {
    // storage is blocked: it lasts as long as the board
  }
}
