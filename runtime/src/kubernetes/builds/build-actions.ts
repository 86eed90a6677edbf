import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { buildHomeContent } from '../../build/build-home.ts'
import type { BuildPlan } from '../../build/build-image.ts'
import { stepEnvironment } from '../../build/build-work.ts'
import { commandsOf, managerEnvironment, productionPackageJson } from '../../build/manager-commands.ts'
import { readTextFile } from '../../build/manifest-file.ts'
import type { NpmConfig } from '../../build/npm-config.ts'
import { buildCommandOf } from '../../build/plan-decisions.ts'
import { IMAGE_PATHS } from '../../images/layers/tools-layer.ts'

export type BuildStepName = 'install' | 'build' | 'prune'

/** One action of a build's container (`images/container/build.cjs`). Paths are absolute, in the container. */
export type BuildAction =
  | { do: 'fetch'; name: 'source' | 'dependencies'; to: string }
  | { do: 'write'; file: string; content: string }
  | { do: 'clone' | 'move'; from: string; to: string }
  | { do: 'remove'; path: string }
  /** Ends the build if the program fails and there is no `orElse`. */
  | {
      do: 'run'
      step: BuildStepName
      command: string[]
      cwd: string
      env: Record<string, string>
      orElse?: BuildAction[]
    }
  /** `exclude`: an entry at the top of the folder that is not sent. */
  | { do: 'send'; name: 'dependencies' | 'app'; from: string; exclude?: string }

/** The two containers of a build. The first ends with all of its processes before the second starts; null: it is not needed. */
export type BuildActions = { install: BuildAction[] | null; build: BuildAction[] }

/** The folder of a build in its containers, a volume that both use. */
export const WORK_DIR = '/build'
const APP = `${WORK_DIR}/app`
const HOME = `${WORK_DIR}/home`
const DEPENDENCIES = `${WORK_DIR}/dependencies`
const PRODUCTION = `${WORK_DIR}/production`

/** `none`: the result of the install depends on more than the lockfile, so dependencies are part of the app. */
export type DependencyState = 'cached' | 'missing' | 'none'

/**
 * Returns what the containers of a build do. If the cache lacks the dependencies, a separate container installs and sends them, so
 * that the squid's build script cannot change what later builds use.
 */
export async function buildActions(
  plan: BuildPlan,
  npmConfig: NpmConfig,
  dependencies: DependencyState,
): Promise<BuildActions> {
  const { request } = plan
  const home = buildHomeContent(HOME, npmConfig)
  const env = { ...home.env, PATH: IMAGE_PATHS.toolBins.join(':'), TMPDIR: '/tmp', ...stepEnvironment(request.limits) }
  const writeHome = Object.entries(home.files).map(([name, content]) => write(join(HOME, name), content))
  const source: BuildAction = { do: 'fetch', name: 'source', to: APP }
  const steps = stepsOf(plan, env)
  const send: BuildAction = {
    do: 'send',
    name: 'app',
    from: APP,
    ...(dependencies === 'none' ? {} : { exclude: 'node_modules' }),
  }
  if (dependencies === 'cached') {
    const fetchModules: BuildAction = { do: 'fetch', name: 'dependencies', to: `${APP}/node_modules` }
    return { install: null, build: [...writeHome, source, fetchModules, ...steps.build, send] }
  }
  if (dependencies === 'missing') {
    const pruneActions: BuildAction[] = [
      ...(await managerFiles(plan, PRODUCTION, 'production')),
      { do: 'clone', from: `${DEPENDENCIES}/full`, to: `${PRODUCTION}/node_modules` },
      {
        ...steps.prune(PRODUCTION),
        orElse: [
          { do: 'remove', path: `${PRODUCTION}/node_modules` },
          { do: 'clone', from: `${DEPENDENCIES}/full`, to: `${PRODUCTION}/node_modules` },
        ],
      },
      { do: 'move', from: `${PRODUCTION}/node_modules`, to: `${DEPENDENCIES}/production` },
    ]
    const install: BuildAction[] = [
      ...writeHome,
      source,
      steps.install,
      { do: 'move', from: `${APP}/node_modules`, to: `${DEPENDENCIES}/full` },
      ...pruneActions,
      { do: 'send', name: 'dependencies', from: DEPENDENCIES },
      { do: 'move', from: `${DEPENDENCIES}/full`, to: `${APP}/node_modules` },
    ]
    return { install, build: [...steps.build, send] }
  }
  const prune =
    request.installCommand === null
      ? [
          ...(await managerFiles(plan, APP, 'production')),
          { ...steps.prune(APP), orElse: [] },
          ...(await managerFiles(plan, APP, 'source')),
        ]
      : []
  return { install: null, build: [...writeHome, source, steps.install, ...steps.build, ...prune, send] }
}

const write = (file: string, content: string): BuildAction => ({ do: 'write', file, content })

function stepsOf(plan: BuildPlan, env: Record<string, string>) {
  const { request, manager } = plan
  const commands = commandsOf(manager)
  // Other builds do not use these downloads.
  const managerEnv = { ...env, ...managerEnvironment(`${WORK_DIR}/downloads`) }
  const run = (step: BuildStepName, command: string[], cwd: string, more: Record<string, string> = {}) => ({
    do: 'run' as const,
    step,
    command,
    cwd,
    env: { ...managerEnv, ...more },
  })
  const command = buildCommandOf(plan)
  const path = `${APP}/node_modules/.bin:${env['PATH']}`
  return {
    install: run('install', request.installCommand ?? commands.install, APP),
    build: command === null ? [] : [run('build', command, APP, { PATH: path })],
    prune: (cwd: string) => run('prune', commands.prune, cwd, commands.pruneEnv),
  }
}

/**
 * Returns actions that write package.json, the lockfile and the configuration files to `to`; `production`: in the form with which pruning leaves
 * only production dependencies.
 */
async function managerFiles(
  { source, manager, packageJson }: BuildPlan,
  to: string,
  use: 'source' | 'production',
): Promise<BuildAction[]> {
  const names = ['package.json', ...(manager.lockfile === null ? [] : [manager.lockfile.name])]
  const actions: BuildAction[] = []
  for (const name of [...names, ...commandsOf(manager).configFiles].filter((name) => existsSync(join(source, name)))) {
    const changed = name === 'package.json' && use === 'production' ? productionPackageJson(manager, packageJson) : null
    const text = name === manager.lockfile?.name ? manager.lockfile.text : await readTextFile(source, name)
    if (text !== null) actions.push(write(`${to}/${name}`, changed === null ? text : JSON.stringify(changed, null, 2)))
  }
  return actions
}
