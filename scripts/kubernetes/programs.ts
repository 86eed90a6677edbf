import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../root.ts'
import { buildOnce, cachedProgram, goBuild, missingGo } from './go.ts'

/** Paths of the programs built from `test/kube`: `kube` contains every part of Kubernetes; `pod` is the program of the cluster's image. */
export type Programs = { kube: string; pod: string }

const sourceFolder = join(root, 'test/kube')
/** Programs that have not been used for this time are deleted from the cache. */
const unusedMs = 7 * 24 * 60 * 60 * 1000

/** Returns why the programs cannot be built; null if they can, or if they are already in the cache. */
export async function missingPrograms(): Promise<string | null> {
  return existsSync(cachedPrograms().kube) ? null : missingGo()
}

/**
 * Returns the programs in the user's cache, where this function builds them once for each state of the sources. With empty Go caches,
 * that takes ten minutes on two cores, and downloads 850 MB of modules.
 * @throws CannotBuild without network or disk space; Error with the output of Go if the build fails
 */
export async function buildPrograms(): Promise<Programs> {
  const programs = cachedPrograms()
  await buildOnce(programs.kube, 'Building Kubernetes from its Go modules', build)
  removeUnused(dirname(dirname(programs.kube)))
  return programs
}

function cachedPrograms(): Programs {
  const hash = createHash('sha256')
  for (const file of globSync(['go.mod', 'go.sum', '**/*.go'], { cwd: sourceFolder }).toSorted()) {
    if (!file.endsWith('_test.go')) hash.update(`${file}\n`).update(readFileSync(join(sourceFolder, file)))
  }
  return { kube: cachedProgram(hash, 'kube'), pod: cachedProgram(hash, 'pod') }
}

async function build(unfinished: string): Promise<void> {
  const version = /k8s\.io\/kubernetes (v1\.(\d+)\.\d+)/.exec(readFileSync(join(sourceFolder, 'go.mod'), 'utf8'))
  const [, full = '', minor = ''] = version ?? []
  // Without these variables, the programs report version 0.
  const values = {
    'k8s.io/component-base/version.gitVersion': full,
    'k8s.io/component-base/version.gitMajor': '1',
    'k8s.io/component-base/version.gitMinor': minor,
    'k8s.io/client-go/pkg/version.gitVersion': full,
  }
  await goBuild({ folder: sourceFolder, program: '.', output: join(unfinished, 'kube'), values })
  await goBuild({ folder: sourceFolder, program: './pod', output: join(unfinished, 'pod'), values })
}

function removeUnused(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const unusedFor = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
    if (unusedFor > unusedMs) rmSync(path, { recursive: true, force: true })
  }
}
