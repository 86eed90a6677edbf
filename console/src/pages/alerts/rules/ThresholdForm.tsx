import type { alertRules, AlertKind } from '@shoal/contract'
import { useState } from 'react'
import { formatInteger } from '../../../lib/format.ts'
import { Button } from '../../../ui/Button.tsx'
import { FieldNote } from '../../../ui/Field.tsx'
import { TextField } from '../../../ui/TextField.tsx'
import { parseThreshold, unitLabels } from './threshold.ts'

type Props = {
  title: string
  bounds: NonNullable<(typeof alertRules)[AlertKind]['threshold']>
  value: number
  isReadOnly: boolean
  isPending: boolean
  onSave: (value: number) => void
}

/** A field for the threshold of a rule. Enter saves it, and so does the button that appears after a change. */
export function ThresholdForm({ title, bounds, value, isReadOnly, isPending, onSave }: Props) {
  const [text, setText] = useState(String(value))
  const parsed = parseThreshold(text, bounds)
  const isChanged = text.trim() !== String(value)
  const error = typeof parsed === 'string' ? parsed : undefined
  const id = `threshold-${bounds.unit}-${title}`.replaceAll(' ', '-')
  return (
    <form
      className="mt-2"
      onSubmit={(event) => {
        event.preventDefault()
        if (isChanged && typeof parsed === 'number') onSave(parsed)
      }}
    >
      <div className="flex flex-wrap items-center gap-2">
        <TextField
          label={`${title}, threshold in ${bounds.unit}`}
          isLabelHidden
          inputMode="numeric"
          autoComplete="off"
          value={text}
          disabled={isReadOnly}
          aria-invalid={error !== undefined || undefined}
          aria-describedby={`${id}-${error ? 'error' : 'description'}`}
          onChange={({ target }) => setText(target.value)}
          className="w-28 tabular"
        />
        <span className="text-ink-2">{unitLabels[bounds.unit]}</span>
        <FieldNote
          id={id}
          error={error}
          description={`${formatInteger(bounds.min)} to ${formatInteger(bounds.max)}, default ${formatInteger(bounds.initial)}`}
        />
        {isChanged && !isReadOnly && (
          <>
            <Button type="submit" variant="primary" isPending={isPending} isDisabled={error !== undefined}>
              Save
            </Button>
            <Button variant="ghost" onClick={() => setText(String(value))}>
              Cancel
            </Button>
          </>
        )}
      </div>
    </form>
  )
}
