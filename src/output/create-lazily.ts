/** Returns a function that creates a value when it is first called, for what takes long to create and is rarely needed. */
export function createLazily<Value>(create: () => Value): () => Value {
  let value: Value | undefined;
  return () => {
    value ??= create();
    return value;
  };
}
