import { join } from 'node:path'
import type { PackageManager } from './package-manager.ts'

/** The commands of a package manager. Installs use only the lockfile. */
export type ManagerCommands = {
  install: string[]
  /** Removes development dependencies from an installed tree, without network and without running scripts. */
  prune: string[]
  /** Additional environment variables for `prune`. */
  pruneEnv: Record<string, string>
  /** Configuration files next to package.json that affect the install. */
  configFiles: string[]
  /** True when packages from the download cache are verified against the lockfile. */
  verifiesDownloads: boolean
}

const MANAGERS: Record<PackageManager['kind'], ManagerCommands> = {
  npm: {
    install: ['npm', 'ci', '--no-audit', '--no-fund'],
    prune: ['npm', 'prune', '--omit=dev', '--offline', '--ignore-scripts', '--no-audit', '--no-fund'],
    pruneEnv: {},
    configFiles: ['.npmrc'],
    verifiesDownloads: true,
  },
  pnpm: {
    install: ['pnpm', 'install', '--frozen-lockfile'],
    prune: ['pnpm', 'prune', '--prod'],
    pruneEnv: { npm_config_ignore_scripts: 'true', npm_config_offline: 'true' },
    configFiles: ['.npmrc', 'pnpm-workspace.yaml'],
    verifiesDownloads: false,
  },
  'yarn-classic': {
    install: ['yarn', 'install', '--frozen-lockfile', '--non-interactive'],
    prune: [
      'yarn',
      'install',
      '--production',
      '--frozen-lockfile',
      '--offline',
      '--ignore-scripts',
      '--non-interactive',
    ],
    pruneEnv: {},
    configFiles: ['.npmrc', '.yarnrc'],
    verifiesDownloads: false,
  },
  'yarn-berry': {
    install: ['yarn', 'install', '--immutable'],
    // `workspaces focus` is a plugin in yarn 3; a package.json without development dependencies has the same effect in every version.
    prune: ['yarn', 'install', '--mode=skip-build'],
    pruneEnv: { YARN_ENABLE_NETWORK: 'false', YARN_ENABLE_IMMUTABLE_INSTALLS: 'false' },
    configFiles: ['.npmrc', '.yarnrc.yml'],
    verifiesDownloads: true,
  },
}

export function commandsOf(manager: PackageManager): ManagerCommands {
  return MANAGERS[manager.kind]
}

/** Whether `prune` needs another package.json than the squid's own to leave only production dependencies. */
export const needsProductionPackageJson = (manager: PackageManager): boolean => manager.kind === 'yarn-berry'

/** Returns the package.json with which `prune` leaves only production dependencies; null if that is the squid's own. */
export const productionPackageJson = (
  manager: PackageManager,
  packageJson: Record<string, unknown>,
): Record<string, unknown> | null =>
  needsProductionPackageJson(manager) ? { ...packageJson, devDependencies: {} } : null

/** Returns the command with which the user updates a lockfile that does not match package.json. */
export function lockfileUpdateCommand(manager: PackageManager): string {
  return `${manager.name} install`
}

/** Returns the environment variables with which all managers use `downloadsDir`, run non-interactively, and do not modify shared files. */
export function managerEnvironment(downloadsDir: string): Record<string, string> {
  return {
    npm_config_cache: join(downloadsDir, 'npm'),
    npm_config_update_notifier: 'false',
    npm_config_progress: 'false',
    npm_config_color: 'false',
    npm_config_store_dir: join(downloadsDir, 'pnpm'),
    // With hard links into the store, one build could change the packages of the next.
    npm_config_package_import_method: 'copy',
    // Otherwise pnpm writes paths of this build into the command files.
    npm_config_prefer_symlinked_executables: 'true',
    npm_config_manage_package_manager_versions: 'false',
    npm_config_package_manager_strict: 'false',
    YARN_CACHE_FOLDER: join(downloadsDir, 'yarn'),
    YARN_GLOBAL_FOLDER: join(downloadsDir, 'berry'),
    YARN_ENABLE_GLOBAL_CACHE: 'true',
    YARN_ENABLE_TELEMETRY: 'false',
    YARN_ENABLE_COLORS: 'false',
    YARN_ENABLE_PROGRESS_BARS: 'false',
    // Squids run as `node lib/main.js` with commands from node_modules/.bin, which Plug'n'Play does not support.
    YARN_NODE_LINKER: 'node-modules',
    YARN_NM_MODE: 'classic',
    YARN_IGNORE_PATH: 'true',
    SKIP_YARN_COREPACK_CHECK: '1',
    COREPACK_ENABLE_STRICT: '0',
  }
}
