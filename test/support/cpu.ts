/** CPU time of an action in milliseconds, which does not depend on the load of the machine. */
export async function cpuMsOf(act: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
