/**
 * The milliseconds of work that something costs. Unlike the time that passes meanwhile they do not grow with what else
 * the machine has to do.
 */
export async function cpuMsOf(act: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
