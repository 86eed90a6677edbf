import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { repositoryRoot } from '../support/shoal.ts'

type Result = { name: string; value: number }

/**
 * Runs the benchmark `plans` with few versions. That is enough to show which functions it does not call; to find statements that read
 * too many rows, it must run with its default number of versions.
 */
async function runPlans(): Promise<{ results: Result[]; errors: string }> {
  const args = [join(repositoryRoot, 'scripts/bench.ts'), 'plans', '--json']
  const env = { ...process.env, PLANS_VERSIONS: '100' }
  const options = { cwd: repositoryRoot, env, maxBuffer: 64 * 1024 * 1024 }
  // With so few versions, some statements exceed their limit, so the bench fails. Its output is complete nevertheless.
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, options).catch(
    (error: unknown) => error as { stdout: string; stderr: string },
  )
  const lines = stdout.trim().split('\n')
  return { results: lines.map((line) => JSON.parse(line) as Result), errors: stderr }
}

test('the bench of query plans calls every function with SQL except those in unmeasured.ts', async () => {
  const { results, errors } = await runPlans()
  // A message that begins with `No ` names a function that the bench does not call, or an exception that matches no statement.
  const missing = errors.split('\n').filter((line) => line.startsWith('No '))
  expect(missing).toEqual([])
  expect(results).toContainEqual(expect.objectContaining({ name: 'plans, functions without plans', value: 0 }))
}, 900_000)
