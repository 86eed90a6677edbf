import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildTool, helm, missingTool } from '../../scripts/kubernetes/go-tool.ts'
import { repositoryRoot } from './shoal.ts'

export const chart = join(repositoryRoot, 'deploy/chart')

/** Why this machine has no Helm, or null. */
export const missingHelm = await missingTool(helm)
if (missingHelm) console.log(`Helm cannot be built: ${missingHelm}.`)

/** Arguments for a file of values of the chart's tests. */
export const valuesOf = (name: string): string[] => ['-f', join(chart, `tests/${name}.yaml`)]

/** Runs Helm, which is built if it is not in the user's cache. `env` is all of its environment. */
export async function runHelm(
  args: string[],
  env: Record<string, string> = {},
): Promise<{ code: number; output: string }> {
  const program = await buildTool(helm)
  try {
    const { stdout, stderr } = await promisify(execFile)(program, args, { env: { HOME: '/nonexistent', ...env } })
    return { code: 0, output: stdout + stderr }
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    return { code: 1, output: stdout + stderr }
  }
}
