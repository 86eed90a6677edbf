import { KubeClient } from '../client/kube-client.ts'
import { KubeError } from '../client/kube-error.ts'
import { kinds } from '../client/kinds.ts'
import { loadKubeConfig } from '../client/load-config.ts'
import { MANAGER, labels } from '../names.ts'
import { type ClusterPostgres, passwordSecretName, postgresObjects } from './postgres-objects.ts'
import { type PostgresCluster, type PostgresState, postgresState } from './postgres-state.ts'

type Name = Pick<ClusterPostgres, 'name' | 'namespace'>

/** Postgres servers that CloudNativePG runs in a cluster. Every method may throw `KubeError` or `ClusterUnreachable`. */
export type ClusterPostgresServers = {
  /** Creates the server, or changes it to this size. Its namespace must exist. @throws if a Cluster with its name is not Shoal's */
  apply: (server: ClusterPostgres) => Promise<void>
  read: (server: Name) => Promise<PostgresState>
  /** Deletes the server with its data, but not the backups in its object store. Idempotent. @throws if it is not Shoal's */
  remove: (server: Name) => Promise<void>
  close: () => void
}

/** Connects to the cluster of `kubeconfig` (see `loadKubeConfig`), to manage Postgres servers in it. */
export async function openClusterPostgres(kubeconfig: string | null): Promise<ClusterPostgresServers> {
  const client = new KubeClient(await loadKubeConfig(kubeconfig))
  const clusterOf = async ({ name, namespace }: Name) => {
    const query = { fieldSelector: `metadata.name=${name}` }
    const list = () => client.list<PostgresCluster>(kinds.postgresCluster, query, namespace)
    const { items } = await explainMissingOperator(list)
    return items[0] ?? null
  }
  // Throws before anything is changed if CloudNativePG is missing, or if Shoal did not create the server.
  const requireOwn = async (server: Name) => {
    const cluster = await clusterOf(server)
    if (cluster && cluster.metadata.labels?.[labels.managedBy] !== MANAGER)
      throw new Error(
        `Shoal did not create the Postgres server ${server.namespace}/${server.name}, so it does not change it`,
      )
  }
  return {
    apply: async (server) => {
      await requireOwn(server)
      for (const object of postgresObjects(server)) await client.apply(object)
      // This server may have had backups before.
      if (server.objectStore === null) await client.delete(kinds.scheduledBackup, server.namespace, server.name)
    },
    read: async (server) => postgresState(await clusterOf(server)),
    remove: async ({ name, namespace }) => {
      await requireOwn({ name, namespace })
      await client.delete(kinds.scheduledBackup, namespace, name)
      await client.delete(kinds.postgresCluster, namespace, name)
      await client.delete(kinds.secret, namespace, passwordSecretName(name))
    },
    close: () => client.close(),
  }
}

/** Explains the error of an API server that does not know the objects of CloudNativePG. */
async function explainMissingOperator<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request()
  } catch (error) {
    // A list of a known kind is never missing, even in a namespace that does not exist.
    if (!(error instanceof KubeError) || error.status !== 404) throw error
    throw new Error('The cluster does not have CloudNativePG: install its operator first', { cause: error })
  }
}
