import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { root } from '../root.ts'
import { buildOnce, cachedProgram, goBuild, missingGo } from './go.ts'

/**
 * A Go program of another project that is built for tests. `folder`: where a go.mod requires its module. `minutes`: about how long the
 * build takes. `values`: the variables that the linker sets, for a version of the module.
 */
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

/** Simulates the nodes of a cluster and their pods. */
export const kwok: GoTool = { folder: 'test/kwok', program: 'sigs.k8s.io/kwok/cmd/kwok', minutes: 3 }

/** Returns why the program can neither be found in the user's cache nor be built; null if it can. */
export const missingTool = async (tool: GoTool): Promise<string | null> =>
  existsSync(cached(tool)) ? null : await missingGo(tool.folder)

/**
 * Returns the path of the program in the user's cache, where this function builds it once for each state of its go.mod and go.sum.
 * @throws with the output of Go if the build fails
 */
export async function buildTool(tool: GoTool): Promise<string> {
  const path = cached(tool)
  const name = basename(path)
  await buildOnce(path, `Building ${name} from its Go module (about ${tool.minutes} minutes)`, (unfinished) =>
    build(tool, join(unfinished, name)),
  )
  return path
}

function cached({ folder, program, values }: GoTool): string {
  const hash = createHash('sha256').update(JSON.stringify(values?.('') ?? {}))
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(join(root, folder, file)))
  return cachedProgram(hash, basename(program))
}

async function build({ folder, program, values }: GoTool, output: string): Promise<void> {
  const cwd = join(root, folder)
  const modules = [...readFileSync(join(cwd, 'go.mod'), 'utf8').matchAll(/^\s+(\S+) (v\S+)/gm)]
  const version = modules.find(([, name = '']) => program.startsWith(name))?.[2] ?? ''
  await goBuild({ folder: cwd, program, output, values: values?.(version) })
}
