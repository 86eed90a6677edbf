import { Suspense, useState } from 'react'
import { prefetch } from '../../ui/prefetch.ts'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { templates, type Template } from './commands.ts'
import { lazyPart } from '../../lib/lazy.tsx'

const Select = lazyPart(async () => ({ default: (await import('../../ui/Select.tsx')).Select }))
const loadSchemas = () => import('../form-schemas.ts')

const options = templates.map((id) => ({ id, label: id }))

type Props = {
  name: string
  onName: (name: string) => void
  template: Template
  onTemplate: (template: Template) => void
}

/** Fields for the name and the template of the new squid. */
export function SquidNameFields({ name, onName, template, onTemplate }: Props) {
  const [error, setError] = useState<string>()
  const validate = async (typed: string) => {
    const { SquidName } = await loadSchemas()
    setError(SquidName.safeParse(typed).error?.issues[0]?.message)
  }
  const pick = (id: string) => {
    const selected = templates.find((template) => template === id)
    if (selected) onTemplate(selected)
  }
  return (
    <div className="grid gap-4 xs:grid-cols-2">
      <TextField
        label="Squid name"
        description="Min 3, max 30 symbols. Cannot be changed later."
        value={name}
        onFocus={() => prefetch(loadSchemas)}
        onChange={(event) => {
          onName(event.target.value)
          if (error) void validate(event.target.value)
        }}
        onBlur={(event) => void validate(event.target.value)}
        autoComplete="off"
        spellCheck={false}
        {...(error && { error })}
      />
      <Suspense fallback={<Skeleton className="h-14 w-full" />}>
        <Select label="Template" options={options} value={template} onChange={pick} />
      </Suspense>
    </div>
  )
}
