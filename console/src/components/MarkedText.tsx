import { splitAtMatches } from './split-at-matches.ts'

/** Text in which the matches of the search are highlighted. */
export function MarkedText({ text, search }: { text: string; search: string }) {
  const parts = splitAtMatches(text, search)
  if (parts.length === 1) return text
  return parts.map((part, index) =>
    index % 2 === 1 ? (
      <mark key={index} className="rounded-[2px] bg-[color-mix(in_srgb,var(--accent)_26%,transparent)] text-ink">
        {part}
      </mark>
    ) : (
      part
    ),
  )
}
