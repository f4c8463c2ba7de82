/** Runs a task once, after at least so many milliseconds. */
export type Schedule = (task: () => void, ms: number) => void;

/** The machine's own timers; they keep no process alive. */
export const scheduleInProcess: Schedule = (task, ms) => {
  setTimeout(task, ms).unref();
};
