/**
 * Returns a function that computes each value once, and remembers it as long as the function lives.
 * @param keyOf equal for inputs that have the same value
 */
export function memoize<Input, Value>(
  compute: (input: Input) => Value,
  keyOf: (input: Input) => string,
): (input: Input) => Value {
  const known = new Map<string, { readonly value: Value }>();
  return (input) => {
    const key = keyOf(input);
    const entry = known.get(key) ?? { value: compute(input) };
    known.set(key, entry);
    return entry.value;
  };
}
