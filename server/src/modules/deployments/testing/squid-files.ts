import { BEHAVIOUR_VARIABLE, type SimBehaviour, type SimBuild } from '@shoal/runtime'

/** A squid of a test: how its build and its programs behave, and what its manifest contains. */
export type TestSquid = {
  /** The behaviour of this program, as for the next two fields. Default: healthy. Null: the squid has no such program. */
  init?: SimBehaviour | null
  api?: SimBehaviour | null
  processors?: Record<string, SimBehaviour>
  hasPostgres?: boolean
  build?: SimBuild
  env?: Record<string, string>
  /** Merged into the manifest's top level. */
  manifest?: Record<string, unknown>
  addons?: Record<string, unknown>
  scale?: Record<string, unknown>
  /** Additional files of the archive. */
  files?: Record<string, string>
}

/** The files of a squid for the sim runtime. JSON is valid YAML. */
export function squidFiles(squid: TestSquid = {}): Record<string, string> {
  const { init, api, processors = { processor: {} }, hasPostgres = true } = squid
  const section = (behaviour: SimBehaviour | undefined) => ({
    cmd: ['node', 'lib/main.js'],
    ...(behaviour && Object.keys(behaviour).length > 0
      ? { env: { [BEHAVIOUR_VARIABLE]: JSON.stringify(behaviour) } }
      : {}),
  })
  const manifest = {
    manifest_version: 'subsquid.io/v0.1',
    name: 'test-squid',
    deploy: {
      addons: { ...(hasPostgres ? { postgres: { config: { statement_timeout: '30s' } } } : {}), ...squid.addons },
      ...(squid.env ? { env: squid.env } : {}),
      init: init === null ? false : section(init),
      ...(api === null ? {} : { api: section(api) }),
      processor: Object.entries(processors).map(([name, behaviour]) => ({ name, ...section(behaviour) })),
    },
    ...(squid.scale ? { scale: squid.scale } : {}),
    ...squid.manifest,
  }
  return {
    'squid.yaml': JSON.stringify(manifest),
    'package.json': JSON.stringify({ name: 'test-squid', sim: squid.build ?? {} }),
    'package-lock.json': '{}',
    ...squid.files,
  }
}
