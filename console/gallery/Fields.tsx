import { useState } from 'react'
import { FormShell } from '../src/components/FormShell.tsx'
import { Checkbox } from '../src/ui/Checkbox.tsx'
import { RadioGroup } from '../src/ui/RadioGroup.tsx'
import { SearchField } from '../src/ui/SearchField.tsx'
import { MultiSelect, Select } from '../src/ui/Select.tsx'
import { Switch } from '../src/ui/Switch.tsx'
import { TextArea, TextField } from '../src/ui/TextField.tsx'
import { Grid, Line, Section } from './Section.tsx'

const roles = [
  { id: 'admin', label: 'Admin', description: 'May do everything' },
  { id: 'developer', label: 'Developer', description: 'May change squids' },
  { id: 'viewer', label: 'Viewer' },
] as const
const levels = ['Debug', 'Info', 'Warning', 'Error'].map((label) => ({ id: label, label }))

/** Fields of forms in each state, and a form with an error. */
export function Fields() {
  const [text, setText] = useState('erc20')
  const [role, setRole] = useState<(typeof roles)[number]['id'] | null>(null)
  const [chosen, setChosen] = useState<string[]>(['Warning', 'Error'])
  const [expiry, setExpiry] = useState<'7' | '30' | 'none'>('30')
  return (
    <>
      <Section title="Text fields">
        <Grid>
          <TextField label="Organization name" defaultValue="Acme Labs" />
          <TextField label="Organization code" placeholder="acme-labs" isMono description="Cannot be changed later." />
          <TextField label="Work email" type="email" defaultValue="mira@" error="Must be valid email" />
          <TextField label="Password" type="password" defaultValue="correct horse" />
          <TextField label="Email" defaultValue="mira@acme.dev" disabled description="Cannot be changed." />
          <TextField label="Larger, for sign-in" size={36} placeholder="mira@acme.dev" />
          <TextArea label="Value" isMono placeholder="postgres://…" />
          <TextArea label="Value" error="Value is required" />
          <div className="flex flex-col gap-3">
            <SearchField label="Find squid" value={text} onChange={setText} className="w-full" />
            <SearchField label="Empty search" value="" onChange={() => {}} className="w-full" />
          </div>
        </Grid>
      </Section>
      <Section title="Choices">
        <Grid>
          <Select label="Role" options={roles} value={role} onChange={setRole} placeholder="Choose a role" />
          <MultiSelect label="Levels" options={levels} value={chosen} onChange={setChosen} none="All levels" />
          <Select label="Disabled" options={roles} value="viewer" onChange={() => {}} isDisabled />
          <Select label="With an error" options={roles} value={null} onChange={() => {}} error="Choose one" />
          <MultiSelect label="Empty" options={levels} value={[]} onChange={() => {}} none="Any status" />
        </Grid>
        <Grid>
          <div className="flex flex-col gap-2.5">
            <Checkbox>Send me news about the product</Checkbox>
            <Checkbox defaultChecked description="At most two emails a quarter.">
              Ticked, with a description
            </Checkbox>
            <Checkbox error="Field must be checked">I accept the terms of service</Checkbox>
            <Checkbox disabled>Disabled</Checkbox>
            <Checkbox disabled defaultChecked>
              Disabled and ticked
            </Checkbox>
          </div>
          <RadioGroup
            label="Expiration"
            value={expiry}
            onChange={setExpiry}
            options={[
              { value: '7', label: '7 days' },
              { value: '30', label: '30 days', description: 'For a maintained pipeline' },
              { value: 'none', label: 'No expiration', isDisabled: true },
            ]}
          />
          <div className="flex flex-col items-start gap-3">
            <Switch defaultChecked>Per squid</Switch>
            <Switch>Follow</Switch>
            <Switch disabled>Disabled</Switch>
          </div>
        </Grid>
      </Section>
      <Section title="Form">
        <div className="max-w-140">
          <FormShell
            schema={({ z }) => z.object({ name: z.string().min(1, 'Name is required') })}
            values={{ name: '' }}
            onSubmit={() => {}}
            isPending={false}
            submitError={new Error('offline')}
            submitLabel="Save"
            warnsAboutUnsavedChanges={false}
          >
            {({ field }) => <TextField label="Name" {...field('name')} />}
          </FormShell>
        </div>
        <Line>
          <span className="text-ink-3">The error above is not about a field, so it is shown below the form.</span>
        </Line>
      </Section>
    </>
  )
}
