// State that redraws the regions of a tab which depend on it.

/**
 * @template {object} State
 * @typedef {object} Store
 * @property {Readonly<State>} state the current values
 * @property {(partial: Partial<State>) => void} set changes some values and redraws what depends on them
 * @property {(names: (keyof State)[], render: (state: Readonly<State>) => void) => () => void} subscribe calls
 *   `render` now, and whenever one of these values has changed; returns a function that ends it
 */

/**
 * Creates a store. Values are compared by identity: replace an object to change it.
 *
 * @template {object} State
 * @param {State} initial
 * @returns {Store<State>}
 */
export function createStore(initial) {
  let state = { ...initial };
  /** @type {Set<() => void>} */
  const updates = new Set();
  return {
    get state() {
      return state;
    },
    set(partial) {
      state = { ...state, ...partial };
      for (const update of [...updates]) update();
    },
    subscribe(names, render) {
      /** @type {State | null} */
      let drawn = null;
      const update = () => {
        const last = drawn;
        if (last && names.every((name) => Object.is(last[name], state[name]))) return;
        drawn = state; // before `render`, which may change the state
        render(state);
      };
      updates.add(update);
      update();
      return () => updates.delete(update);
    },
  };
}
