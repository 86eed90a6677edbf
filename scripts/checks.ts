import { runCommand } from './command.ts'

type Check = { name: string; file: string; args: string[] }
export type Counts = { passed: number; failed: number }

const all: Check[] = [
  { name: 'lint', file: 'oxlint', args: ['--type-aware'] },
  { name: 'formatting', file: 'prettier', args: ['--check', '--log-level', 'warn', '.'] },
  { name: 'types', file: 'tsc', args: ['--noEmit', '-p', '.'] },
  { name: 'types of the console', file: 'tsc', args: ['--noEmit', '-p', 'console'] },
  { name: 'dead code', file: 'knip', args: [] },
  { name: 'rules', file: 'vitest', args: ['run', 'scripts/repo-rules.test.ts'] },
]

/** The checks that are not tests: a full test run includes those anyway. */
export const checksBesideTests = all.filter(({ file }) => file !== 'vitest')

/** Runs the checks, two at a time, and prints one line for each, with its output if it failed. */
export async function runChecks(checks = all): Promise<Counts> {
  const counts: Counts = { passed: 0, failed: 0 }
  const waiting = [...checks]
  const runSequentially = async () => {
    for (let check = waiting.shift(); check; check = waiting.shift()) {
      const { code, output, elapsedMs } = await runCommand(check.file, check.args)
      const isFine = code === 0
      counts[isFine ? 'passed' : 'failed']++
      console.log(`${isFine ? '✓' : '✗'} ${check.name} ${(elapsedMs / 1000).toFixed(1)} s`)
      if (!isFine) console.log(output.trimEnd())
    }
  }
  await Promise.all([runSequentially(), runSequentially()])
  return counts
}
