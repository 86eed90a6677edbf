import { createHash } from 'node:crypto'
import { existsSync, readFileSync, utimesSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { runCommand } from '../command.ts'
import { withProgress } from '../progress.ts'
import { root } from '../root.ts'
import { fillOnce } from '../user-cache.ts'
import { cacheFolder, goEnvironment, goProgram, missingGo } from './programs.ts'

/** A program that tests build from its Go module. `folder` has the go.mod that names it as its tool; `values` are set by the linker. */
export type GoTool = {
  folder: string
  program: string
  minutes: number
  values?: (version: string) => Record<string, string>
}

export const helm: GoTool = {
  folder: 'test/helm',
  program: 'helm.sh/helm/v3/cmd/helm',
  minutes: 3,
  values: (version) => ({
    'helm.sh/helm/v3/internal/version.version': version,
    // The versions of Kubernetes that `helm template` and `helm lint` assume.
    'helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor': '1',
    'helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor': '35',
  }),
}

/** Returns why the program can neither be found in the user's cache nor be built, or null. */
export const missingTool = async (tool: GoTool): Promise<string | null> =>
  existsSync(cached(tool)) ? null : await missingGo()

/**
 * Returns the path of the program, from the user's cache, built once for each state of its go.mod.
 * @throws with the output of Go if the build fails
 */
export async function buildTool(tool: GoTool): Promise<string> {
  const path = cached(tool)
  const folder = dirname(path)
  const name = basename(tool.program)
  const now = new Date()
  if (existsSync(path)) utimesSync(folder, now, now)
  else
    await withProgress(`Building ${name} from its Go module (${tool.minutes} minutes)`, `Built ${name}`, () =>
      fillOnce(folder, (unfinished) => build(tool, unfinished)),
    )
  return path
}

function cached({ folder, program, values }: GoTool): string {
  const hash = createHash('sha256').update(JSON.stringify(values?.('') ?? {}))
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(join(root, folder, file)))
  return join(cacheFolder(), 'programs', hash.digest('hex').slice(0, 16), basename(program))
}

async function build({ folder, program, values }: GoTool, unfinished: string): Promise<boolean> {
  const cwd = join(root, folder)
  const modules = [...readFileSync(join(cwd, 'go.mod'), 'utf8').matchAll(/^\s+(\S+) (v\S+)/gm)]
  const version = modules.find(([, name = '']) => program.startsWith(name))?.[2] ?? ''
  const set = Object.entries(values?.(version) ?? {}).map(([name, value]) => `-X ${name}=${value}`)
  const flags = ['-trimpath', '-buildvcs=false', '-ldflags', ['-s -w', ...set].join(' ')]
  const args = ['build', ...flags, '-o', join(unfinished, basename(program)), program]
  const result = await runCommand('nice', [goProgram(), ...args], { cwd, env: goEnvironment() })
  if (result.code !== 0) throw new Error(`go build failed:\n${result.output.trim().slice(-3000)}`)
  return true
}
