import { runCommand } from './command.ts'

type Check = { name: string; file: string; args: string[] }
/** `failed`: names of the failed checks. */
export type CheckResults = { passed: number; failed: string[] }

const allChecks: Check[] = [
  { name: 'lint', file: 'oxlint', args: ['--type-aware'] },
  { name: 'formatting', file: 'prettier', args: ['--check', '--log-level', 'warn', '.'] },
  { name: 'types', file: 'tsc', args: ['--noEmit', '-p', '.'] },
  { name: 'types of the console', file: 'tsc', args: ['--noEmit', '-p', 'console'] },
  { name: 'types of the site', file: 'tsc', args: ['--noEmit', '-p', 'site'] },
  { name: 'dead code', file: 'knip', args: [] },
  { name: 'rules', file: 'vitest', args: ['run', 'scripts/repo-rules.test.ts'] },
]

/** The checks without vitest, for a full test run, which includes the tests anyway. */
export const checksWithoutTests = allChecks.filter(({ file }) => file !== 'vitest')

/** Runs the checks, two at a time, and prints one line for each, with its output if it failed. */
export async function runChecks(checks = allChecks): Promise<CheckResults> {
  const results: CheckResults = { passed: 0, failed: [] }
  const queue = [...checks]
  const runUntilEmpty = async () => {
    for (let check = queue.shift(); check; check = queue.shift()) {
      const { code, output, elapsedMs } = await runCommand(check.file, check.args)
      const hasPassed = code === 0
      if (hasPassed) results.passed++
      else results.failed.push(check.name)
      console.log(`${hasPassed ? '✓' : '✗'} ${check.name} ${(elapsedMs / 1000).toFixed(1)} s`)
      if (!hasPassed) console.log(output.trimEnd())
    }
  }
  await Promise.all([runUntilEmpty(), runUntilEmpty()])
  return results
}
