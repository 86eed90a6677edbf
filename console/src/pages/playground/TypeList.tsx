import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { countOf, formatInteger } from '../../lib/format.ts'
import { cx } from '../../ui/classes.ts'
import type { SchemaType } from './schema.ts'

/** `total` is the number of types in the schema, `selected` the name of the selected type. */
type Props = { types: readonly SchemaType[]; total: number; selected: string | undefined }

const kindLabels: Record<string, string> = {
  OBJECT: 'type',
  INTERFACE: 'interface',
  UNION: 'union',
  ENUM: 'enum',
  INPUT_OBJECT: 'input',
  SCALAR: 'scalar',
}

/** The types that match the search, each a link that selects it. */
export function TypeList({ types, total, selected }: Props) {
  return (
    <nav aria-label="Types" className="overflow-hidden rounded-lg border border-line bg-canvas">
      <p role="status" className="border-b border-line px-3.5 py-1.5 text-sm text-ink-3">
        {types.length < total && `${formatInteger(types.length)} of `}
        {countOf(total, 'type')}
      </p>
      <ul className="max-h-96 overflow-y-auto py-1" tabIndex={-1}>
        {types.map(({ name, kind }) => (
          <li key={name}>
            <TypeLink
              name={name}
              isCurrent={name === selected}
              className={cx(
                'flex items-center gap-3 px-3.5 py-1 hover:bg-muted',
                name === selected && 'bg-accent-soft text-accent',
              )}
            >
              <code className="min-w-0 flex-1 truncate">{name}</code>
              <span className="text-xs text-ink-2">{kindLabels[kind] ?? kind}</span>
            </TypeLink>
          </li>
        ))}
      </ul>
    </nav>
  )
}

type LinkProps = { name: string; isCurrent?: boolean; className: string; children: ReactNode }

/** A link that selects a type, and keeps the search. */
export function TypeLink({ name, isCurrent = false, className, children }: LinkProps) {
  return (
    <Link
      from="/squids/$squidName/$squidSlot/schema"
      to="/squids/$squidName/$squidSlot/schema"
      search={(current) => ({ ...current, type: name })}
      resetScroll={false}
      aria-current={isCurrent ? 'true' : undefined}
      className={className}
    >
      {children}
    </Link>
  )
}
