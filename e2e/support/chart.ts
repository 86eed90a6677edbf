import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildTool, helm, missingTool } from '../../scripts/kubernetes/go-tool.ts'
import { repositoryRoot } from './shoal.ts'

/** The folder of the chart. */
export const chart = join(repositoryRoot, 'deploy/chart')

/** Why Helm cannot be built on this machine; null if it can. */
export const missingHelm = await missingTool(helm)
if (missingHelm) console.log(`Helm cannot be built: ${missingHelm}.`)

/** Returns the arguments of Helm for one of the values files in the chart's folder `tests`. */
export const valuesOf = (name: string): string[] => ['-f', join(chart, `tests/${name}.yaml`)]

/** Builds Helm if the user's cache does not have it, and runs it with only this environment. Returns its exit code, which is 1 for any failure, and all of its output. */
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
