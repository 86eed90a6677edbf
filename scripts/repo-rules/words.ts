import { formerNames } from './former-names.ts'
import type { Repo, Rule } from './repo.ts'

/** Banned words and their replacements; `docs/architecture.md` has the complete table. */
const banned: [pattern: RegExp, instead: string][] = [
  [/\b(nobody|somebody|who(m)?ever)\b/gi, 'the actor: user, operator, worker, gateway, caller; or "no one"'],
  [/\b(anew|afresh)\b/gi, 'again, from scratch'],
  [/\b(told|tells?)\b/gi, 'receives, is notified, reports, shows'],
  [/\b(has|have|had|is|are|was|were) gone\b/gi, 'no longer exists, was deleted'],
  [/\b(goes|go|went|going) on\b/gi, 'continues'],
  [/\b(does|do|did|has|have|had) not answer(ed)?\b|\banswers? again\b/gi, 'responds'],
  [/, also (if|when|while|after|for|from|in|on|across|over)\b/g, 'even if, even when, even in'],
  [/\bof (its|their) own(?=[.,;:)\n])/g, 'its own, separate'],
  [/\bof (yours|theirs|ours)\b/g, 'your own, their own, our own'],
  [/\b(whatever|by itself|at full tilt)\b/gi, 'any, regardless of; automatically; at full speed'],
  [/\bat once\b/gi, 'immediately; at the same time'],
  [/\bmeanwhile\b/gi, 'in the meantime'],
  [/\bsooner\b/gi, 'earlier'],
  [/\bpaced?\b|\b\w*Pace([A-Z]\w*)?\b/g, 'interval, rate'],
  [
    /\b(lest|hence|thereby|whence|thence|whither|hither|thither|yonder|whilst|albeit|forthwith|amidst)\b/gi,
    'so, so that',
  ],
  [/\b(seldom|moot|quarrels?)\b/gi, 'rarely; obsolete; conflict, contradiction'],
  [/\b(gives?|gave|giving|given) up\b/gi, 'abandons, stops trying'],
  [/\bforget(s|ting|[A-Z]\w*)?\b/g, 'deletes, evicts, clears'],
  [/\b(wanted|patient(ly)?)\b/gi, 'desired, requested; with a long timeout'],
  [/\b(a|the) look at\b|\blook(s|ed|ing)? (at|after)\b/gi, 'a reading, a poll, a check; reads, polls, manages'],
  [/\bstood\b|\bstands? in (the|a|its|one) (row|table|column|database|file|log)\b/gi, 'is in'],
  [/\b(most|longest|largest|fewest|soonest|shortest|smallest)[A-Z]\w*/g, 'max… or min…'],
  [/\b[a-z]\w*AtOnce\b/g, 'maxConcurrent… or …BatchSize'],
  [/\b(that|which) (is|are) no (?!longer|more|other|one\b)[a-z]+/g, 'that is not a …'],
  [/\b\w*([pP]atience|[wW]ish)(Ms|Key|es)?\b/g, 'timeout, desired state, request'],
  [/\/\*\* Of /g, 'the noun that the comment describes: "The URL of …"'],
  [
    /\b(no|most|more|without|makes?|leaves?|has|have|needs?) room\b|\broom for\b|\b(\w+_room|[a-z]\w*Room)\b/g,
    'capacity, storage, free space, a maximum number',
  ],
  [/\bas whom\b|\banother one's\b/gi, 'which or whose, with the noun'],
  [formerNames, 'a standard term for what it is or does'],
]

/**
 * Files without the rule: this one and the list of names, migrations, which never change, the page that documents the rule, examples,
 * generated files, the license, and `test/kube`, whose identifiers are those of Kubernetes (`NobodyUser`, `Gone`).
 */
const exempt =
  /^scripts\/repo-rules\/(words|former-names)\.ts$|migrations\/|^docs\/architecture\.md$|^examples\/|\.gen\.ts$|(^|\/)package-lock\.json$|^LICENSE$|^test\/kube\//

function bannedWords(repo: Repo): string[] {
  return repo.files
    .filter(({ path }) => !exempt.test(path))
    .flatMap(({ path, text }) =>
      banned.flatMap(([pattern, instead]) =>
        [...text.matchAll(pattern)].map(
          (found) => `${path}:${text.slice(0, found.index).split('\n').length} "${found[0]}": write ${instead}`,
        ),
      ),
    )
}

export const wordRules: Rule[] = [
  {
    title: 'code and documents use plain words',
    why: 'a reader who is new to the project understands them',
    fix: 'name the actor, and use the words of docs/architecture.md',
    find: bannedWords,
    broken: {
      'server/src/a.ts': '// Nobody is told of it.',
      'docs/b.md':
        'The list is made anew, whatever its order, and goes on, also if a host does not answer a call of its own.',
      'runtime/src/c.ts': 'const mostBytes = 1',
      'runtime/src/d.cjs': '// A file that is no archive is rejected. The disk has no room.',
      'runtime/src/e.ts': '/** Of the server. */ const url = 1',
      'deploy/f.tpl': '{{/* Replaced at once. */}}',
      'deploy/Containerfile': '# Meanwhile, it waits.',
      'test/helm/g.go': '// The pace of the test',
      'server/src/h.ts': 'const seen = readSeen()',
    },
  },
]
