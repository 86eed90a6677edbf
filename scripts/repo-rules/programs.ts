import type { Rule } from './repo.ts'

const start = /\b(?:spawn|spawnSync|execFile|execFileSync|promisify\(execFile\))\(/g

/** Returns the text of a call from its first parenthesis, at `index`, to the one that closes it. */
function callAt(code: string, index: number): string {
  let depth = 0
  for (let at = index; at < code.length; at++) {
    if (code[at] === '(') depth++
    else if (code[at] === ')' && --depth === 0) return code.slice(index, at + 1)
  }
  return code.slice(index)
}

export const programRules: Rule[] = [
  {
    title: 'runtime and server pass an environment to every program that they start',
    why: 'without it, the program inherits the secrets in the environment of the server',
    fix: 'pass `env`, for example PLAIN_ENV',
    find: (repo) =>
      repo.files
        .filter(({ path, isTest }) => /^(runtime|server)\/src\/(?!driver-suite-)/.test(path) && !isTest)
        .flatMap(({ path, code }) =>
          [...code.matchAll(start)]
            .filter((match) => !/\benv\b/.test(callAt(code, match.index + match[0].length - 1)))
            .map((match) => `${path}: ${match[0]}`),
        ),
    broken: {
      'runtime/src/a.ts': `spawn('ls', [dirOf(a)], { cwd: '/' }); const env = {}`,
      'server/src/b.ts': `await promisify(execFile)('ls', args)`,
    },
  },
]
