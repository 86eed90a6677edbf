import type { Import, Repo, Rule, SourceFile } from './repo.ts'

/** Returns the imports in files of the folder that `isAllowed` rejects. */
function forbiddenImports(
  repo: Repo,
  folder: string,
  isAllowed: (candidate: Import, file: SourceFile) => boolean,
): string[] {
  const files = repo.files.filter(({ path }) => path.startsWith(folder))
  return files.flatMap((file) =>
    file.imports
      .filter((candidate) => !isAllowed(candidate, file))
      .map(({ specifier }) => `${file.path} imports ${specifier}`),
  )
}

const workspaces = ['contract', 'runtime', 'server', 'console', 'e2e']

/** The workspaces that each workspace may import. */
const mayImport: Record<string, string[]> = {
  contract: [],
  runtime: [],
  server: ['contract', 'runtime'],
  console: ['contract'],
  e2e: ['contract', 'runtime'],
}

function crossesWorkspaces({ specifier, target }: Import, workspace: string): boolean {
  const named = /^@shoal\/([a-z0-9]+)/.exec(specifier)?.[1]
  if (named) return named !== workspace && !mayImport[workspace]?.includes(named)
  const folder = target?.split('/')[0] ?? workspace
  return folder !== workspace && workspaces.includes(folder)
}

/** The modules of the server in their order. A module may import only those to its left. */
const moduleOrder =
  'certificates audit auth orgs user secrets chains rpc portal manifest versions databases observing squids deployments logs metrics billing alerts operators statuspage domains'.split(
    ' ',
  )

function moduleOf(path: string): string | null {
  return /^server\/src\/modules\/([^/]+)\//.exec(path)?.[1] ?? null
}

function mayModuleImport({ target }: Import, file: SourceFile): boolean {
  if (!target?.startsWith('server/src/')) return true
  if (file.isTest) return true
  if (target.startsWith('server/src/http/')) return false
  const importer = moduleOf(file.path)
  const imported = moduleOf(target)
  if (!importer || !imported || importer === imported) return true
  return target.endsWith('/index.ts') && moduleOrder.indexOf(imported) < moduleOrder.indexOf(importer)
}

const foundations = ['db', 'jobs', 'mail', 'artifacts', 'errors.ts', 'clock.ts', 'config']

/** The layers that each layer may import. */
const consoleMayImport: Record<string, string[]> = {
  app: ['app', 'pages', 'components', 'ui', 'lib', 'api'],
  pages: ['pages', 'components', 'ui', 'lib', 'api'],
  components: ['components', 'ui', 'lib', 'api'],
  ui: ['ui'],
  api: ['api', 'lib'],
  lib: ['lib'],
}

function consoleFolders(path: string): [layer: string | undefined, area: string | undefined] {
  const [layer, area] = path.replace('console/src/', '').split('/')
  return [layer, area]
}

function mayConsoleImport({ target }: Import, file: SourceFile): boolean {
  if (!target?.startsWith('console/src/')) return true
  const [layer = '', area] = consoleFolders(file.path)
  const [targetLayer = '', targetArea] = consoleFolders(target)
  // A file outside the layers, such as main.tsx, connects them.
  if (!(layer in consoleMayImport) || file.isTest) return true
  if (layer === 'pages' && targetLayer === 'pages') return area === targetArea
  return consoleMayImport[layer]?.includes(targetLayer) ?? false
}

/** Returns the names that a file exports with `export { a, type b } from …` or with a declaration. */
function exportedNames({ code }: SourceFile): string[] {
  const lists = [...code.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = '']) => names.split(','))
  const declared = [...code.matchAll(/^export (?:async )?(?:function|const|class|type) (\w+)/gm)].map(
    ([, name = '']) => name,
  )
  return [...lists, ...declared].map((name) => name.trim()).filter((name) => name !== '')
}

const maxModuleNames = 24

export const importRules: Rule[] = [
  {
    title: 'contract imports zod only',
    why: 'it runs in the browser and in Node, and every workspace loads it',
    fix: 'move code with other dependencies to the workspace that uses it',
    find: (repo) =>
      forbiddenImports(repo, 'contract/src/', ({ specifier, target }, { isTest }) => {
        return isTest || specifier === 'zod' || target !== null
      }),
    broken: { 'contract/src/a.ts': `import { readFile } from 'node:fs'` },
  },
  {
    title: 'a workspace imports only workspaces below it, and by name',
    why: 'each can then be understood, tested and replaced without the ones above it',
    fix: `allowed: ${workspaces.map((name) => `${name} → ${mayImport[name]?.join(', ') || 'none'}`).join('; ')}; as @shoal/NAME`,
    find: (repo) =>
      workspaces.flatMap((workspace) =>
        forbiddenImports(repo, `${workspace}/`, (candidate) => !crossesWorkspaces(candidate, workspace)),
      ),
    broken: {
      'runtime/src/a.ts': `import { x } from '@shoal/contract'`,
      'console/src/b.ts': `export { y } from '../../contract/src/y.ts'`,
    },
  },
  {
    title: 'a server module imports no http, and other modules only through their index.ts and leftward',
    why: 'modules that depend on internals of others, or in a cycle, can only be changed together',
    fix: `the order is ${moduleOrder.join(', ')}; a dependency in the other direction is a job or a row`,
    find: (repo) => forbiddenImports(repo, 'server/src/modules/', mayModuleImport),
    broken: {
      'server/src/modules/auth/a.ts': `import { orgs } from '../orgs/index.ts'`,
      'server/src/modules/orgs/b.ts': `import { store } from '../auth/store.ts'`,
      'server/src/modules/orgs/c.ts': `import { mount } from '../../http/mount.ts'`,
    },
  },
  {
    title: `the index.ts of a server module exports at most ${maxModuleNames} names`,
    why: 'a module with a small interface can be understood and changed on its own',
    fix: 'let one function do what callers combine, or split the module; tests may import the files of a module directly',
    find: (repo) =>
      repo.files
        .filter(({ path }) => /^server\/src\/modules\/[^/]+\/index\.ts$/.test(path))
        .map((file) => ({ path: file.path, names: exportedNames(file).length }))
        .filter(({ names }) => names > maxModuleNames)
        .map(({ path, names }) => `${path} exports ${names} names`),
    broken: {
      'server/src/modules/orgs/index.ts': `export { ${Array.from({ length: 25 }, (_, i) => `a${i}`).join(', ')} } from './a.ts'`,
    },
  },
  {
    title: 'db, jobs, mail, artifacts, errors, clock and config of the server import neither http nor modules',
    why: 'everything else depends on them',
    fix: 'let the module call them, or connect the two in server/src/main.ts',
    find: (repo) =>
      foundations.flatMap((name) =>
        forbiddenImports(repo, `server/src/${name}`, ({ target }, { isTest }) => {
          return isTest || !/^server\/src\/(http|modules|gateway)\//.test(target ?? '')
        }),
      ),
    broken: { 'server/src/jobs/a.ts': `import { restart } from '../modules/squids/index.ts'` },
  },
  {
    title:
      'in the console, app imports pages, pages components, and components ui; all may import lib and api, and no page imports another',
    why: 'a page can then be changed or removed without affecting the others, and ui depends on neither contract nor router',
    fix: 'move code that two pages share to components, or to ui if it needs neither contract nor router; pass data to ui as props',
    find: (repo) => forbiddenImports(repo, 'console/src/', mayConsoleImport),
    broken: {
      'console/src/pages/squids/A.tsx': `import { B } from '../secrets/B.tsx'`,
      'console/src/ui/C.tsx': `import { format } from '../lib/format.ts'`,
      'console/src/components/D.tsx': `const page = () => import('../pages/squids/A.tsx')`,
    },
  },
]
