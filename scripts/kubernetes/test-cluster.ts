import { clusterPackages, ensurePackages } from '../debian-packages.ts'
import { withProgress } from '../progress.ts'
import { clusterLeftovers, endCluster, hasStartedCluster, startCluster } from './cluster.ts'
import { CannotBuild, goProgram, missingGo } from './go.ts'
import { buildPrograms, missingPrograms } from './programs.ts'

/** `env`: environment variables for the tests. `missing`: what this machine lacks to run a cluster. */
export type TestCluster = { env: Record<string, string> } | { missing: string }

/**
 * Starts the cluster of `npm run test:kubernetes`, or uses that of SHOAL_TEST_KUBECONFIG.
 * @throws if the cluster does not start although this machine has all it needs
 */
export async function openTestCluster(): Promise<TestCluster> {
  // The tests inherit these variables of the environment.
  if (process.env['SHOAL_TEST_KUBECONFIG']) return { env: {} }
  const missing = await missingHere()
  if (missing) return { missing: `${missing}. To use another cluster, set SHOAL_TEST_KUBECONFIG.` }
  const programs = await buildPrograms().catch(cannotBuild)
  if (programs instanceof CannotBuild) return { missing: `${programs.message}.` }
  const env = await withProgress('Starting a cluster', () => startCluster(programs))
  return { env: (await missingGo()) === null ? { ...env, SHOAL_TEST_GO: goProgram() } : env }
}

function cannotBuild(error: unknown): CannotBuild {
  if (error instanceof CannotBuild) return error
  throw error
}

/** Ends the cluster, if this process started one. Returns one line for each thing that is left of it. */
export function closeTestCluster(): string[] {
  // If this process started none, the parts of a cluster on this host belong to another process, such as `npm run cluster`.
  if (!hasStartedCluster()) return []
  endCluster()
  return clusterLeftovers()
}

async function missingHere(): Promise<string | null> {
  if (process.platform !== 'linux') return 'A test cluster runs on Linux only'
  if (process.getuid?.() !== 0) return 'A test cluster needs root'
  const missing = await missingPrograms()
  if (missing) return missing
  const [missingPackage] = await ensurePackages(clusterPackages)
  return missingPackage?.sentence.replace(/\.$/, '') ?? null
}
