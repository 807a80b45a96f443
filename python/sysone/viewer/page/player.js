// The clock of a view: where it is, how fast it goes, and who wants to know.

export const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16];

export class Player {
  constructor(duration, step, start = 0) {
    this.duration = duration;
    this.step = step;
    this.start = start;
    this.time = start;
    this.speed = 1;
    this.playing = false;
    this.onChange = () => {};
    // May slow the clock or send it back: (before, after) => null or {time, factor}.
    this.filter = () => null;
    this.factor = 1;
    this.frameTimes = [];
    this._last = null;
    this._frame = (now) => this._tick(now);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.time >= this.duration) this.time = this.start;
    this.playing = true;
    this._last = null;
    requestAnimationFrame(this._frame);
    this.onChange();
  }

  pause() {
    this.playing = false;
    this.factor = 1;
    this.onChange();
  }

  seek(time) {
    this.factor = 1;
    this.time = Math.min(this.duration, Math.max(this.start, time));
    this.onChange();
  }

  // To whole steps, so that a frame is never between two.
  move(steps) {
    this.pause();
    this.seek((Math.round(this.time / this.step) + steps) * this.step);
  }

  faster(by) {
    const at = SPEEDS.indexOf(this.speed) + by;
    this.speed = SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, at))];
    this.onChange();
  }

  _tick(now) {
    if (!this.playing) return;
    if (this._last !== null) {
      const passed = now - this._last;
      this.frameTimes.push(passed);
      if (this.frameTimes.length > 600) this.frameTimes.shift();
      // A tab that slept goes on where it was, and does not leap.
      const before = this.time;
      let after = before + Math.min(passed, 250) / 1000 * this.speed * this.factor;
      const sent = this.filter(before, after);
      if (sent) {
        after = sent.time;
        this.factor = sent.factor;
      }
      this.time = Math.min(this.duration, after);
      if (this.time >= this.duration) this.playing = false;
      this.onChange();
    }
    this._last = now;
    if (this.playing) requestAnimationFrame(this._frame);
  }
}
