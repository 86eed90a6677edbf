/** Options of vitest whose value is the next argument. */
const optionsWithValue = ['-t', '--testNamePattern', '--exclude', '--project', '--retry', '--maxWorkers', '--bail']

/** Splits the arguments of `npm test` into paths of tests, and options of vitest with their values. */
export function splitArguments(args: readonly string[]): { paths: string[]; options: string[] } {
  const isOption = (arg: string, index: number) =>
    arg.startsWith('-') || optionsWithValue.includes(args[index - 1] ?? '')
  return {
    paths: args.filter((arg, index) => !isOption(arg, index)),
    options: args.filter(isOption),
  }
}
