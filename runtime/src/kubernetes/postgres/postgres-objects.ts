import { MANAGER, labels } from '../names.ts'
import type { NewObject } from '../objects/object-types.ts'

/** A Postgres server that the operator CloudNativePG runs, for databases of squids. */
export type ClusterPostgres = {
  /** The name of its Cluster. Its primary is reachable as `<name>-rw.<namespace>.svc`. */
  name: string
  namespace: string
  /** The password of `postgres`, the role with which Shoal connects. */
  password: string
  cpuCores: number
  memoryBytes: number
  storageBytes: number
  /** Null: the default of the cluster. */
  storageClass: string | null
  maxConnections: number
  /** The number of Postgres instances: one is the primary, the others are replicas. */
  instances: number
  /** The ObjectStore of the Barman Cloud plugin that receives backups; null: no backups. */
  objectStore: string | null
}

/** The name of the plugin that stores backups in S3. */
const BACKUP_PLUGIN = 'barman-cloud.cloudnative-pg.io'
/** Every day at 03:00. The first field is the second. */
const BACKUP_SCHEDULE = '0 0 3 * * *'
/** Without this label on a Secret, CloudNativePG does not notice a new password. */
const reloadLabel = 'cnpg.io/reload'
const MIB = 2 ** 20

/** The name of the Secret with the password of `postgres`. */
export const passwordSecretName = (name: string): string => `${name}-shoal`

/** Returns the objects of a Postgres server, in the order in which they must be created. */
export function postgresObjects(server: ClusterPostgres): NewObject[] {
  const { name, namespace, password, objectStore } = server
  const metadata = { namespace, labels: { [labels.managedBy]: MANAGER } }
  return [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        ...metadata,
        name: passwordSecretName(name),
        labels: { ...metadata.labels, [reloadLabel]: 'true' },
      },
      type: 'kubernetes.io/basic-auth',
      data: { username: base64('postgres'), password: base64(password) },
    },
    { apiVersion: 'postgresql.cnpg.io/v1', kind: 'Cluster', metadata: { ...metadata, name }, spec: specOf(server) },
    ...(objectStore === null
      ? []
      : [
          {
            apiVersion: 'postgresql.cnpg.io/v1',
            kind: 'ScheduledBackup',
            metadata: { ...metadata, name },
            spec: {
              schedule: BACKUP_SCHEDULE,
              immediate: true,
              backupOwnerReference: 'self',
              cluster: { name },
              method: 'plugin',
              pluginConfiguration: { name: BACKUP_PLUGIN },
            },
          },
        ]),
  ]
}

function specOf(server: ClusterPostgres): object {
  const { name, cpuCores, memoryBytes, storageBytes, storageClass, maxConnections, instances, objectStore } = server
  // Requests equal limits, so that the kernel kills other pods first when a node runs out of memory.
  const resources = { cpu: `${Math.round(cpuCores * 1000)}m`, memory: `${Math.floor(memoryBytes / MIB)}Mi` }
  return {
    instances,
    // Shoal creates roles and databases, and sets limits that only a superuser may set.
    enableSuperuserAccess: true,
    superuserSecret: { name: passwordSecretName(name) },
    storage: {
      size: `${Math.ceil(storageBytes / MIB)}Mi`,
      ...(storageClass === null ? {} : { storageClass }),
    },
    resources: { requests: resources, limits: resources },
    postgresql: {
      parameters: {
        max_connections: String(maxConnections),
        shared_buffers: `${Math.floor(memoryBytes / MIB / 4)}MB`,
      },
    },
    ...(objectStore === null
      ? {}
      : { plugins: [{ name: BACKUP_PLUGIN, isWALArchiver: true, parameters: { barmanObjectName: objectStore } }] }),
  }
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')
