// The control of the threshold: automatic, with the value in force, or a number.

import { slider, toggle } from "../core/controls.js";
import { h, put } from "../core/dom.js";
import { formatNumber } from "../core/format.js";
import { RANGES } from "./query.js";

/** @import { Control } from "../core/controls.js" */

const FIRST_VALUE = 0.26; // if the automatic threshold is not known yet

/** @implements {Control<number>} */
export class ThresholdControl {
  /** @param {{ change: (value: number) => void }} options called with 0 for the automatic threshold */
  constructor({ change }) {
    /** @type {number | null} */
    this.automatic = null;
    this.slider = slider({
      label: "Threshold (min_relevance)",
      hint: "Nothing is selected if the highest relevance is below this.",
      min: 0.01,
      max: RANGES.min_relevance[1],
      step: 0.01,
      value: FIRST_VALUE,
      change,
    });
    this.toggle = toggle({
      label: "Automatic threshold",
      hint: "Calibrated for this corpus, or else built in.",
      change: (isOn) => change(isOn ? 0 : (this.automatic ?? FIRST_VALUE)),
    });
    this.label = /** @type {HTMLElement} */ (this.toggle.element.querySelector("label"));
    this.element = h("div", { class: "threshold-control" }, this.toggle.element, this.slider.element);
  }

  /** @param {number} value 0 for the automatic threshold */
  set(value) {
    this.toggle.set(value === 0);
    this.slider.element.hidden = value === 0;
    if (value > 0) this.slider.set(value);
  }

  /**
   * Shows the automatic threshold of the corpus.
   *
   * @param {number | null} value null if it is not known
   */
  showAutomatic(value) {
    this.automatic = value;
    put(this.label, value === null ? "Automatic threshold" : `Automatic threshold (${formatNumber(value)})`);
  }
}
