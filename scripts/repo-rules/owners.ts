import type { Repo, Rule, SourceFile } from './repo.ts'

/** Returns the files in `scope`, except tests, whose code matches the pattern although they are not among its `owners`. */
function matchesOutsideOwners(repo: Repo, pattern: RegExp, scope: RegExp, owners: RegExp): string[] {
  const isChecked = ({ path, isTest }: SourceFile) => !isTest && scope.test(path) && !owners.test(path)
  return repo.files.filter(isChecked).flatMap(({ path, code }) => {
    const match = pattern.exec(code)?.[0].trim()
    return match ? [`${path}: ${match}`] : []
  })
}

const product = /^(contract|runtime|server|console)\//
const server = /^server\/src\//

export const ownerRules: Rule[] = [
  {
    title: 'only server/src/config/config.ts reads the environment',
    why: 'a setting read elsewhere is neither validated nor in docs/operate.md',
    fix: 'add it to the schema in settings.ts and pass the value',
    find: (repo) =>
      matchesOutsideOwners(repo, /process\.env\b/, product, /^server\/(src\/config\/config|drizzle\.config)\.ts$/),
    broken: { 'server/src/mail/mailer.ts': `const from = process.env.MAIL_FROM` },
  },
  {
    title: 'server code has SQL in store.ts, tables.ts and db/ only',
    why: 'each module must have one place where its tables, and the tenant filter of its queries, can be reviewed',
    fix: 'move the query into a named function in the store.ts of its module',
    find: (repo) =>
      matchesOutsideOwners(
        repo,
        /^import (?!type\b)[^'"]*from '(pg|pg-copy-streams|[./]+(db\/)?(sql|columns)\.ts)'|\bsql`|['"`]\s*(SELECT\b[^'"`]+\bFROM|INSERT INTO|UPDATE\b[^'"`]+\bSET|DELETE FROM|CREATE (TABLE|ROLE|DATABASE))\b/m,
        server,
        /\/(store|tables|[a-z-]+-store|[a-z-]+-tables)\.ts$|^server\/src\/(db|jobs)\//,
      ),
    broken: { 'server/src/modules/orgs/handlers.ts': `await client.query('SELECT id FROM org')` },
  },
  {
    title: 'only server/src/db/drizzle.ts loads drizzle-orm',
    why: 'its ES modules take half a second of CPU time in each process that loads them; db/drizzle.ts loads its CommonJS build',
    fix: 'import operators from db/sql.ts, and tables and columns from db/columns.ts',
    find: (repo) =>
      matchesOutsideOwners(repo, /^(?:import|export) (?!type\b)[^'"]*from 'drizzle-orm[/\w-]*'/m, server, /^$/),
    broken: { 'server/src/modules/orgs/store.ts': `import { eq } from 'drizzle-orm'` },
  },
  {
    title: 'only console/src/ui/copy-text.ts uses the clipboard',
    why: 'browsers have no navigator.clipboard on pages over plain HTTP, and may refuse to copy',
    fix: 'call copyText or copyWithToast',
    find: (repo) =>
      matchesOutsideOwners(repo, /navigator\.clipboard/, /^console\/src\//, /^console\/src\/ui\/copy-text\.ts$/),
    broken: { 'console/src/pages/a/A.tsx': `void navigator.clipboard.writeText(text)` },
  },
  {
    title: 'only runtime and scripts start processes',
    why: 'the code that starts a process must also limit, monitor and end it in every case',
    fix: 'add a function to the runtime',
    find: (repo) => matchesOutsideOwners(repo, /from '(node:)?child_process'/, product, /^runtime\//),
    broken: { 'server/src/gateway/a.ts': `import { spawn } from 'node:child_process'` },
  },
  {
    title:
      'fetch is called in contract/src/client.ts, console/src/api and the script in the head of the console, and in modules whose purpose is HTTP requests',
    why: 'errors, sign-out and retries are handled once',
    fix: 'call the endpoint through the client (server: through gateway, or the module that calls external services)',
    find: (repo) =>
      matchesOutsideOwners(
        repo,
        /(?<![\w.])fetch\(|from 'undici'/,
        product,
        /^contract\/src\/client\.ts$|^console\/(src\/api\/|src\/pages\/playground\/recipes\.ts$|build\/head-script\.ts$)|^server\/src\/gateway\/|^server\/src\/modules\/(auth|metrics|rpc|portal|squids|billing|alerts)\/|^runtime\/src\/images\/registry\//,
      ),
    broken: { 'console/src/pages/squids/Squids.tsx': `const response = await fetch('/api/v1/orgs')` },
  },
  {
    title: 'server code reads the time from a Clock',
    why: 'deadlines, retention and bills are tested with a clock that can be moved',
    fix: 'accept a Clock (server/src/clock.ts) and call its now(); measure elapsed time with performance.now()',
    find: (repo) => matchesOutsideOwners(repo, /new Date\(\)|Date\.now\(\)/, server, /^server\/src\/clock\.ts$/),
    broken: { 'server/src/modules/billing/jobs.ts': `const monthEnd = new Date()` },
  },
  {
    title: 'only console/src/api creates keys of queries',
    why: 'a change invalidates queries by the name of their endpoint, so a key with a wrong name keeps old data',
    fix: 'use q, qPages, qTotalPages or qComputed',
    find: (repo) =>
      matchesOutsideOwners(
        repo,
        /queryKey: \[(?!name\])|queryKey = \[/,
        /^console\/src\//,
        // A request for the schema of a squid's API calls no endpoint of Shoal.
        /^console\/src\/(api\/|pages\/playground\/SchemaPage\.tsx$)/,
      ),
    broken: { 'console/src/pages/a.ts': `useQuery({ queryKey: ['deployments.lst', code], queryFn })` },
  },
  {
    title: 'only one file uses each optional browser feature and React.lazy',
    why: 'not all browsers have requestIdleCallback, and React.lazy remembers a failed load forever',
    fix: 'call whenIdle (console/src/lib/when-idle.ts), lazyPart (console/src/lib/lazy.tsx) or lazyPage (console/src/app/missing-code.ts)',
    find: (repo) =>
      matchesOutsideOwners(
        repo,
        /\brequestIdleCallback\(|(?<![\w.])lazy\(|\blazyRouteComponent\(/,
        /^console\/src\//,
        /^console\/src\/(lib\/(when-idle\.ts|lazy\.tsx)|app\/missing-code\.ts|ui\/MenuButton\.tsx)$/,
      ),
    broken: {
      'console/src/pages/a.ts': `requestIdleCallback(() => {})`,
      'console/src/pages/B.tsx': `const Part = lazy(() => import('./Part.tsx'))`,
    },
  },
]
