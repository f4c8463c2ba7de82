/** Runs a task once, after at least so many milliseconds. @returns what calls it off; too late, it does nothing */
export type Schedule = (task: () => void, ms: number) => () => void;

/** The machine's own timers; they keep no process alive. */
export const scheduleInProcess: Schedule = (task, ms) => {
  const timer = setTimeout(task, ms).unref();
  return () => clearTimeout(timer);
};
