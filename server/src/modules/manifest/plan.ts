import type { Manifest, ManifestDeploymentConfig } from '@subsquid/manifest'
import type { HasuraPlan } from './hasura.ts'
import { storageBytes, type ScaleProfile } from './profiles.ts'

/** The settings of Postgres that a manifest requests. */
export type PostgresConfig = Partial<
  NonNullable<NonNullable<NonNullable<ManifestDeploymentConfig['addons']>['postgres']>['config']>
>

/** The contents of a manifest with all defaults, except the environments, which `environment.ts` evaluates. */
export type SquidPlan = {
  /** From `slot`, or from `version: N`, which means slot `vN`. */
  slot: string | null
  description: string | null
  isDedicated: boolean
  init: { command: string[] } | null
  api: { command: string[]; replicas: number; profile: ScaleProfile } | null
  processors: { name: string; command: string[] }[]
  processorProfile: ScaleProfile
  postgres: PostgresPlan | null
  /** Names of endpoints, such as `eth.http`. */
  rpc: string[]
  hasura: HasuraPlan | null
  /** Whether the manifest requests the addon `neon`, which Shoal does not offer. */
  hasNeon: boolean
  build: {
    nodeVersion: string
    packageManager: 'auto' | 'npm' | 'pnpm' | 'yarn'
    installCommand: string[] | null
    buildCommand: string[] | null
  }
}

/** The addon `postgres` of a manifest. */
export type PostgresPlan = {
  version: string | null
  profile: ScaleProfile
  /** As in the manifest, such as `10Gi`. `totalBytes` is the same size. */
  storage: string
  totalBytes: number
  isAutoresizeRequested: boolean
  config: PostgresConfig
  /** Null when the manifest does not set it. */
  maxExternalConnections: number | null
}

/** Returns the plan of a valid manifest. */
export function parsePlan(manifest: Manifest): SquidPlan {
  const { deploy, scale, build } = manifest
  const addons = deploy?.addons
  return {
    slot: manifest.slotName() ?? null,
    description: manifest.description ?? null,
    isDedicated: scale?.dedicated === true,
    init: deploy?.init && deploy.init.cmd ? { command: deploy.init.cmd } : null,
    api: deploy?.api?.cmd
      ? { command: deploy.api.cmd, replicas: scale?.api?.replicas ?? 1, profile: scale?.api?.profile ?? 'small' }
      : null,
    processors: (deploy?.processor ?? []).map((p) => ({ name: p.name, command: p.cmd ?? [] })),
    processorProfile: scale?.processor?.profile ?? 'small',
    postgres: postgresOf(manifest),
    rpc: (addons?.rpc ?? []).map((name) => name.replace(':', '.')),
    hasura: hasuraOf(manifest),
    hasNeon: addons?.neon !== undefined,
    build: {
      nodeVersion: build?.node_version ?? '20',
      packageManager: build?.package_manager ?? 'auto',
      installCommand: build?.install?.cmd ?? null,
      buildCommand: build?.cmd ?? null,
    },
  }
}

function hasuraOf({ deploy, scale }: Manifest): HasuraPlan | null {
  const addon = deploy?.addons?.hasura
  if (!addon) return null
  const size = scale?.addons?.hasura
  return { version: addon.version ?? null, replicas: size?.replicas ?? 1, profile: size?.profile ?? 'small' }
}

function postgresOf({ deploy, scale }: Manifest): PostgresPlan | null {
  const addon = deploy?.addons?.postgres
  if (!addon) return null
  const size = scale?.addons?.postgres
  const storage = size?.storage ?? '10Gi'
  return {
    version: addon.version ?? null,
    profile: size?.profile ?? 'small',
    storage,
    totalBytes: storageBytes(storage),
    isAutoresizeRequested: size?.autoresize === true,
    config: addon.config ?? {},
    maxExternalConnections: addon.external_access?.max_connections ?? null,
  }
}
