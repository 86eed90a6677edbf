import type { Repo, Rule } from './repo.ts'

type Manifest = Record<'dependencies' | 'devDependencies' | 'optionalDependencies', Record<string, string> | undefined>

const machinePaths = /(?<![\w.@-])(\/root\/|\/home\/[a-z]|\/Users\/[A-Za-z]|\/work\/)/
const registryHosts = /\/\/(registry|npm)\.[a-z0-9.-]+|^registry\s*=|"resolved":\s*"https?:/m

function findIn(repo: Repo, pattern: RegExp): string[] {
  return repo.files
    .filter(({ path }) => !path.startsWith('scripts/repo-rules/'))
    .flatMap(({ path, text }) => {
      const match = pattern.exec(text)?.[0]
      return match ? [`${path}: ${match}`] : []
    })
}

function directDependencies(manifest: Manifest): string {
  const { dependencies, devDependencies, optionalDependencies } = manifest
  const allDependencies = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
  return allDependencies
    .map(([name, range]) => `${name}@${range}`)
    .toSorted()
    .join(' ')
}

/** Returns each package.json of a workspace or an example whose dependencies differ from those in its lockfile. */
function outdatedLockfiles(repo: Repo): string[] {
  return repo.files
    .filter(({ path }) => path.endsWith('package-lock.json'))
    .flatMap(({ path, text }) => {
      const { packages } = JSON.parse(text) as { packages: Record<string, Manifest> }
      const folder = path.slice(0, -'package-lock.json'.length)
      const workspaces = Object.entries(packages).filter(([dir]) => !dir.includes('node_modules'))
      return workspaces.flatMap(([dir, locked]) => {
        const manifestPath = `${folder}${dir === '' ? '' : `${dir}/`}package.json`
        const manifest = repo.files.find((file) => file.path === manifestPath)
        if (!manifest) return []
        const declared = JSON.parse(manifest.text) as Manifest
        return directDependencies(declared) === directDependencies(locked) ? [] : [`${manifestPath} and ${path}`]
      })
    })
}

export const committedRules: Rule[] = [
  {
    title: 'no machine-specific path is committed',
    why: 'it is wrong on every other machine',
    fix: 'derive it from import.meta.url, a setting or a temporary folder',
    find: (repo) => findIn(repo, machinePaths),
    broken: { 'docs/a.md': 'as in /home/someone/shoal' },
  },
  {
    title: 'no registry is committed',
    why: 'an installation must use the registry that is configured on its machine',
    fix: 'npm config set omit-lockfile-registry-resolved true, and generate the lockfile again',
    find: (repo) => findIn(repo, registryHosts),
    broken: {
      'package-lock.json': '{ "packages": { "node_modules/a": { "resolved": "https://example.com/a.tgz" } } }',
    },
  },
  {
    title: 'each package.json and its lockfile have the same dependencies',
    why: 'otherwise, an installation uses untested versions',
    fix: 'npm install in the folder of the lockfile, and commit both',
    find: outdatedLockfiles,
    broken: {
      'package.json': '{ "dependencies": { "zod": "4.0.0" } }',
      'package-lock.json': '{ "packages": { "": { "dependencies": { "zod": "3.0.0" } } } }',
    },
  },
]
