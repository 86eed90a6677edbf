import { useState } from 'react'
import { cx } from './classes.ts'

const kindClasses = {
  person: 'rounded-full bg-accent-soft text-accent text-kbd',
  organization: 'rounded-md bg-accent text-on-accent text-xs',
}

/** The initials of a name: MK for `Mira Kovač`, AL for `acme-labs`, MI for `mira@acme.dev`. */
function initialsOf(name: string): string {
  const words = name
    .replace(/@.*/, '')
    .split(/[\s_.-]+/)
    .filter(Boolean)
  const letters = words.length > 1 ? words.slice(0, 2).map((word) => word[0]) : [words[0]?.slice(0, 2)]
  return letters.join('').toUpperCase()
}

type Props = { name: string; url?: string | null; kind?: keyof typeof kindClasses; size?: 24 | 26 }

/** A picture or initials, round for a person and square for an organization. Hidden from screen readers, because the name is next to it. */
export function Avatar({ name, url, kind = 'person', size = 26 }: Props) {
  // A picture may fail to load: providers delete old ones, and the content security policy allows only the providers' hosts.
  const [failedUrl, setFailedUrl] = useState<string | null>(null)
  const shownUrl = url === failedUrl ? null : url
  const className = cx(
    'grid shrink-0 place-items-center overflow-hidden font-semibold select-none before:content-[attr(data-initials)]',
    kindClasses[kind],
  )
  return (
    // CSS draws the initials, so that screen readers do not read "MK Mira Kovač".
    <span
      aria-hidden
      data-initials={shownUrl ? '' : initialsOf(name)}
      className={className}
      style={{ width: size, height: size }}
    >
      {shownUrl && (
        <img
          src={shownUrl}
          alt=""
          width={size}
          height={size}
          referrerPolicy="no-referrer"
          onError={() => setFailedUrl(shownUrl)}
        />
      )}
    </span>
  )
}
