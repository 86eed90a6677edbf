import { useMemo } from 'react'
import { formatBytes, formatInteger } from '../../../lib/format.ts'
import { Badge } from '../../../ui/Badge.tsx'
import { cx } from '../../../ui/classes.ts'
import type { Tone } from '../../../ui/tones.ts'
import { changeOf, countLines, hunksOf, type Change, type ChangedFile, type DiffLine } from './hunks.ts'

/** Files with more lines than this are initially closed. */
const maxOpenLines = 300
/** The maximum number of lines of a file that are rendered. */
const maxLines = 2000

const changeTones: Record<Change, Tone> = { added: 'good', removed: 'bad', changed: 'info' }
const changeLabels: Record<Change, string> = { added: 'Added', removed: 'Removed', changed: 'Changed' }

/** A file that differs, with its lines if it is a text file. */
export function FileDiff({ file }: { file: ChangedFile }) {
  const hunks = useMemo(() => hunksOf(file), [file])
  const change = changeOf(file)
  const { added, removed } = countLines(hunks ?? [])
  const lines = hunks?.flatMap(({ lines: all }, index) => (index === 0 ? all : [null, ...all])) ?? []
  return (
    <details
      open={hunks !== null && lines.length <= maxOpenLines}
      className="overflow-hidden rounded-lg border border-line bg-canvas"
    >
      <summary className="flex min-h-11 cursor-default flex-wrap items-center gap-x-3 px-3.5 py-1.5 -outline-offset-2">
        <Badge tone={changeTones[change]}>{changeLabels[change]}</Badge>
        <code className="min-w-0 flex-1 wrap-anywhere">{file.path}</code>
        {hunks !== null && (
          <span className="tabular text-sm whitespace-nowrap">
            <span className="text-good">+{formatInteger(added)}</span>{' '}
            <span className="text-bad">−{formatInteger(removed)}</span>
          </span>
        )}
        <span className="tabular text-sm whitespace-nowrap text-ink-3">{sizesOf(file)}</span>
      </summary>
      {hunks === null ? (
        <p className="border-t border-line px-3.5 py-2 text-ink-2">{reasonOf(file)}</p>
      ) : (
        <div
          tabIndex={0}
          role="region"
          aria-label={`Changes of ${file.path}`}
          className="max-h-[70vh] overflow-y-auto border-t border-line bg-subtle py-2 font-mono text-code leading-5 -outline-offset-2"
        >
          {lines
            .slice(0, maxLines)
            .map((line, index) => (line === null ? <Gap key={index} /> : <Line key={index} line={line} />))}
          {lines.length === 0 && <p className="px-3.5 text-ink-3">Only the end of the last line differs.</p>}
          {lines.length > maxLines && (
            <p className="px-3.5 text-ink-3">{formatInteger(lines.length - maxLines)} more lines are not shown.</p>
          )}
        </div>
      )}
    </details>
  )
}

const sizesOf = ({ before, after }: ChangedFile) =>
  [before, after].flatMap((side) => (side === null ? [] : [formatBytes(side.bytes)])).join(' → ')

const reasonOf = ({ before, after }: ChangedFile) =>
  before?.text === null || after?.text === null
    ? 'Shoal records only the size of binaries, lockfiles, compiled code, long files, and files that may contain secrets.'
    : 'The two texts differ too much to compare them line by line.'

const Gap = () => (
  <div aria-hidden className="px-3 text-ink-3">
    ⋯
  </div>
)

const signs: Record<DiffLine['kind'], string> = { same: '\u00a0', added: '+', removed: '−' }
const lineClasses: Record<DiffLine['kind'], string> = { same: '', added: 'bg-good-soft', removed: 'bg-bad-soft' }

function Line({ line: { kind, before, after, text } }: { line: DiffLine }) {
  const Text = kind === 'added' ? 'ins' : kind === 'removed' ? 'del' : 'span'
  return (
    <div className={cx('flex gap-3 px-3', lineClasses[kind])}>
      <span aria-hidden className="tabular w-14 shrink-0 text-right text-ink-3 select-none">
        {after ?? before}
      </span>
      <span aria-hidden className="text-ink-2 select-none">
        {signs[kind]}
      </span>
      <Text className="min-w-0 flex-1 wrap-anywhere whitespace-pre-wrap no-underline">{text}</Text>
    </div>
  )
}
