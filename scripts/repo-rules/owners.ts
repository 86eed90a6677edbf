import type { Repo, Rule, SourceFile } from './repo.ts'

/** The path of a file, the path of a folder with a final slash, or a pattern for paths. */
type Owner = string | RegExp

/** A rule that only the owners may contain code that matches `pattern`. It applies to the files in `scope`, except tests. */
type OwnerRule = Omit<Rule, 'find'> & { pattern: RegExp; scope: RegExp; owners: readonly Owner[] }

function isOwnedBy(owner: Owner, path: string): boolean {
  if (owner instanceof RegExp) return owner.test(path)
  return owner.endsWith('/') ? path.startsWith(owner) : path === owner
}

function matchesOutsideOwners(repo: Repo, { pattern, scope, owners }: OwnerRule): string[] {
  const isChecked = ({ path, isTest }: SourceFile) =>
    !isTest && scope.test(path) && !owners.some((owner) => isOwnedBy(owner, path))
  return repo.files.filter(isChecked).flatMap(({ path, code }) => {
    const match = pattern.exec(code)?.[0].trim()
    return match ? [`${path}: ${match}`] : []
  })
}

/** Returns the owners that contain no file whose code matches the pattern. */
const unusedOwners = (repo: Repo, { title, pattern, owners }: OwnerRule): string[] =>
  owners
    .filter((owner) => !repo.files.some(({ path, code }) => isOwnedBy(owner, path) && pattern.test(code)))
    .map((owner) => `${String(owner)}, in the rule “${title}”`)

const product = /^(contract|runtime|server|console)\//
const server = /^server\/src\//
const consoleSource = /^console\/src\//

const rules: OwnerRule[] = [
  {
    title: 'only server/src/config/config.ts reads the environment',
    why: 'a setting read elsewhere is neither validated nor in docs/operate.md',
    fix: 'add it to the schema in settings.ts and pass the value',
    pattern: /process\.env\b/,
    scope: product,
    owners: ['server/src/config/config.ts'],
    broken: { 'server/src/mail/mailer.ts': `const from = process.env.MAIL_FROM` },
  },
  {
    title: 'server code has SQL in store.ts, tables.ts and db/ only',
    why: 'each module must have one place where its tables, and the tenant filter of its queries, can be reviewed',
    fix: 'move the query into a named function in the store.ts of its module',
    pattern:
      /^import (?!type\b)[^'"]*from '(pg|pg-copy-streams|[./]+(db\/)?(sql|columns)\.ts)'|\bsql`|['"`]\s*(SELECT\b[^'"`]+\bFROM|INSERT INTO|UPDATE\b[^'"`]+\bSET|DELETE FROM|CREATE (TABLE|ROLE|DATABASE))\b/m,
    scope: server,
    owners: [/\/([a-z-]+-)?(store|tables)\.ts$/, 'server/src/db/'],
    broken: { 'server/src/modules/orgs/handlers.ts': `await client.query('SELECT id FROM org')` },
  },
  {
    title: 'only server/src/db/drizzle.ts loads drizzle-orm',
    why: 'its ES modules take half a second of CPU time in each process that loads them; db/drizzle.ts loads its CommonJS build',
    fix: 'import operators from db/sql.ts, and tables and columns from db/columns.ts',
    pattern: /^(?:import|export) (?!type\b)[^'"]*from 'drizzle-orm[/\w-]*'/m,
    scope: server,
    owners: [],
    broken: { 'server/src/modules/orgs/store.ts': `import { eq } from 'drizzle-orm'` },
  },
  {
    title: 'only console/src/ui/copy-text.ts uses the clipboard',
    why: 'browsers have no navigator.clipboard on pages over plain HTTP, and may refuse to copy',
    fix: 'call copyText or copyWithToast',
    pattern: /navigator\.clipboard|\{ clipboard \} = navigator/,
    scope: consoleSource,
    owners: ['console/src/ui/copy-text.ts'],
    broken: { 'console/src/pages/a/A.tsx': `void navigator.clipboard.writeText(text)` },
  },
  {
    title: 'only runtime and scripts start processes',
    why: 'the code that starts a process must also limit, monitor and end it in every case',
    fix: 'add a function to the runtime',
    pattern: /from '(node:)?child_process'/,
    scope: product,
    owners: ['runtime/'],
    broken: { 'server/src/gateway/a.ts': `import { spawn } from 'node:child_process'` },
  },
  {
    title:
      'fetch is called in contract/src/client.ts, console/src/api and the script in the head of the console, and in modules whose purpose is HTTP requests',
    why: 'errors, sign-out and retries are handled once',
    fix: 'call the endpoint through the client (server: through gateway, or the module that calls external services)',
    pattern: /(?<![\w.])fetch\)?\(|from 'undici'/,
    scope: product,
    owners: [
      'contract/src/client.ts',
      'console/src/api/',
      'console/src/pages/playground/recipes.ts',
      'console/build/head-script.ts',
      'server/src/gateway/',
      'server/src/modules/auth/',
      'server/src/modules/squids/',
      'server/src/modules/alerts/',
      'runtime/src/images/registry/',
    ],
    broken: { 'console/src/pages/squids/Squids.tsx': `const response = await fetch('/api/v1/orgs')` },
  },
  {
    title: 'server code reads the time from a Clock',
    why: 'deadlines, retention and bills are tested with a clock that can be moved',
    fix: 'accept a Clock (server/src/clock.ts) and call its now(); measure elapsed time with performance.now()',
    pattern: /new Date\(\)|Date\.now\(\)/,
    scope: server,
    owners: ['server/src/clock.ts'],
    broken: { 'server/src/modules/billing/jobs.ts': `const monthEnd = new Date()` },
  },
  {
    title: 'only console/src/api creates keys of queries',
    why: 'a change invalidates queries by the name of their endpoint, so a key with a wrong name keeps old data',
    fix: 'use q, qPages, qTotalPages or qComputed',
    pattern: /queryKey: \[(?!name\])|queryKey = \[/,
    scope: consoleSource,
    // A request for the schema of a squid's API calls no endpoint of Shoal.
    owners: ['console/src/api/', 'console/src/pages/playground/SchemaPage.tsx'],
    broken: { 'console/src/pages/a.ts': `useQuery({ queryKey: ['deployments.lst', code], queryFn })` },
  },
  {
    title: 'a query that is not always needed uses onlyIf of console/src/api/query.ts',
    why: 'a query that is merely disabled still has a function, so that `refetch` calls it with parameters that do not exist',
    fix: 'pass the query to onlyIf, or skipToken as its function',
    pattern: /\benabled: /,
    scope: consoleSource,
    // An option of the list of visible rows, not of a query.
    owners: ['console/src/components/data-table/use-visible-items.ts'],
    broken: { 'console/src/pages/a.ts': `useQuery({ ...tokenQuery(code), enabled: canRead })` },
  },
  {
    title: 'no class of the console overrides another one with `!`',
    why: 'the override shows that a part lacks a variant, and the next user of the part cannot override it',
    fix: 'give the part a variant, such as isSquare of Button',
    pattern: /["'`\s]-?[a-z]+(?:[-:][\w[\]().=/%-]+)+!(?=["'`\s])/,
    scope: consoleSource,
    owners: [],
    broken: { 'console/src/ui/A.tsx': `<Button className="-mx-1! w-8" />` },
  },
  {
    title: 'only one file uses each optional browser feature and React.lazy',
    why: 'not all browsers have requestIdleCallback, and React.lazy remembers a failed load forever',
    fix: 'call whenIdle (console/src/lib/when-idle.ts), lazyPart (console/src/lib/lazy.tsx) or lazyPage (console/src/app/missing-code.ts)',
    pattern: /\brequestIdleCallback\(|(?<![\w.])lazy\(|\blazyRouteComponent\(/,
    scope: consoleSource,
    owners: ['console/src/lib/when-idle.ts', 'console/src/lib/lazy.tsx', 'console/src/app/missing-code.ts'],
    broken: {
      'console/src/pages/a.ts': `requestIdleCallback(() => {})`,
      'console/src/pages/B.tsx': `const Part = lazy(() => import('./Part.tsx'))`,
    },
  },
]

export const ownerRules: Rule[] = [
  ...rules.map((rule) => ({ ...rule, find: (repo: Repo) => matchesOutsideOwners(repo, rule) })),
  {
    title: 'each owner in a rule of owners contains code that only owners may contain',
    why: 'an exemption for a file that no longer exists, or no longer needs it, would apply to a later file with the same path',
    fix: 'remove the owner from the rule',
    find: (repo) => rules.flatMap((rule) => unusedOwners(repo, rule)),
    broken: { 'console/src/ui/copy-text.ts': `export const copyText = () => {}` },
  },
]
