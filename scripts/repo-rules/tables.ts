import type { Repo, Rule, SourceFile } from './repo.ts'

type Table = { owner: string; exportedAs: string }

/** Returns the module or folder of the server that contains a file, such as `modules/orgs` or `mail`. */
function areaOf(path: string): string | null {
  return /^server\/src\/(modules\/[^/]+|[^/]+)\//.exec(path)?.[1] ?? null
}

/** Returns the tables by their names in Postgres, each with the area that owns it. */
function tablesOf(repo: Repo): Map<string, Table> {
  const tables = new Map<string, Table>()
  for (const { path, code } of repo.files) {
    const owner = path.endsWith('tables.ts') ? areaOf(path) : null
    if (owner === null) continue
    for (const [, exportedAs = '', name = ''] of code.matchAll(/export const (\w+) = pgTable\(\s*'(\w+)'/g))
      tables.set(name, { owner, exportedAs })
  }
  return tables
}

const readPattern = /\b(?:from|join|using)\s+(?:only\s+)?([a-z_]+)\b/gi
const writePattern =
  /\b(?:insert\s+into|update|delete\s+from|truncate)\s+([a-z_]+)\b|\.(?:insert|update|delete)\((\w+)\)/gi

/** Matches a list such as `from orgs o, squids s`. */
const listPattern =
  /\b(?:from|using)\s+([a-z_]+(?:\s+(?:as\s+)?[a-z_]+)?(?:\s*,\s*[a-z_]+(?:\s+(?:as\s+)?[a-z_]+)?)+)/gi

/** Returns the tables of other areas that a file names in SQL or imports, by their names in Postgres. */
function foreignTables(
  { path, code }: SourceFile,
  tables: Map<string, Table>,
): { reads: Set<string>; writes: Set<string> } {
  const area = areaOf(path)
  const isForeign = (name: string | undefined): name is string => {
    const table = tables.get(name ?? '')
    return table !== undefined && table.owner !== area
  }
  const importedFrom = (name: string) => {
    const local = new Set<string>()
    for (const [, names = '', specifier = ''] of code.matchAll(/import (?!type\b)\{([^}]*)\} from '([^']+)'/g))
      if (specifier.endsWith(`/${tables.get(name)?.owner.split('/').at(-1)}/index.ts`))
        for (const importedName of names.split(',')) local.add(importedName.trim())
    return local
  }
  const nameOf = (exportedAs: string) =>
    [...tables].find(([name, table]) => table.exportedAs === exportedAs && importedFrom(name).has(exportedAs))?.[0]
  const imported = [...tables.keys()].filter((name) => importedFrom(name).has(tables.get(name)?.exportedAs ?? ''))
  // `readPattern` also matches `delete from`.
  const deletes = new Set([...code.matchAll(/delete\s+from\s+([a-z_]+)/gi)].map(([, name]) => name))
  const listed = [...code.matchAll(listPattern)].flatMap(([, list = '']) => list.split(',').slice(1))
  const read = [
    ...[...code.matchAll(readPattern)].map(([, name]) => name).filter((name) => !deletes.has(name)),
    ...listed.map((item) => /[a-z_]+/i.exec(item)?.[0]),
  ]
  const written = [...code.matchAll(writePattern)].map(([, text, exported]) => text ?? nameOf(exported ?? ''))
  return { reads: new Set([...read, ...imported].filter(isForeign)), writes: new Set(written.filter(isForeign)) }
}

/** Returns the tables that a file declares with `// Reads tables of other modules: squids, orgs. The reason.`, or `// Writes tables …`. */
function declaredTables(verb: 'Reads' | 'Writes', text: string): Set<string> {
  const declared = new RegExp(`^// ${verb} tables of other modules: ([a-z_, ]+)\\. \\S`, 'm').exec(text)?.[1] ?? ''
  return new Set(declared.split(', ').filter((name) => name !== ''))
}

function find(repo: Repo): string[] {
  const tables = tablesOf(repo)
  const files = repo.files.filter(({ path, isTest }) => areaOf(path) !== null && !isTest && !path.endsWith('tables.ts'))
  return files.flatMap((file) => {
    const usedTables = foreignTables(file, tables)
    const violationsOf = (verb: 'Reads' | 'Writes', names: Set<string>) => {
      const declared = declaredTables(verb, file.text)
      const uses = `${file.path} ${verb.toLowerCase()}`
      const undeclared = [...names].filter((name) => !declared.has(name))
      const unused = [...declared].filter((name) => !names.has(name))
      return [
        ...undeclared.map((name) => `${uses} ${name} of ${tables.get(name)?.owner} without declaring it`),
        ...unused.map((name) => `${file.path} declares that it ${verb.toLowerCase()} ${name}, but does not`),
      ]
    }
    const reads = new Set([...usedTables.reads].filter((name) => !usedTables.writes.has(name)))
    return [...violationsOf('Writes', usedTables.writes), ...violationsOf('Reads', reads)]
  })
}

export const tableRules: Rule[] = [
  {
    title: "a file that reads or writes another module's table declares it",
    why: 'an engineer who changes a column can find every file that depends on it, and no other module changes rows without a reason',
    fix: 'call a function of the owner, or begin the file with "// Reads tables of other modules: table, other_table. The reason." (Writes …, which includes reading, if the owner cannot make the change)',
    find: (repo) => find(repo),
    sample: { 'server/src/modules/orgs/tables.ts': `export const orgs = pgTable('orgs', {})` },
    broken: {
      'server/src/modules/logs/a-store.ts': 'await db.execute(sql`select 1 from lines join orgs o on true`)',
      'server/src/modules/logs/b-store.ts': 'await db.execute(sql`delete from orgs where id = 1`)',
      'server/src/modules/logs/c-store.ts': `import { orgs } from '../orgs/index.ts'\nawait db.select().from(orgs)`,
      'server/src/modules/logs/e-store.ts':
        'await db.execute(sql`select 1 from lines l, orgs o where o.id = l.org_id`)',
      'server/src/modules/logs/d-store.ts': '// Reads tables of other modules: orgs. It no longer does.',
    },
  },
]
