import { useQuery } from '@tanstack/react-query'
import { useApiMutation } from '../../../api/mutation.ts'
import { squidsQuery } from '../../../api/squids.ts'
import { FormShell } from '../../../components/FormShell.tsx'
import { LazyDialog } from '../../../components/LazyDialog.tsx'
import { Button } from '../../../ui/Button.tsx'
import { NativeSelect } from '../../../ui/NativeSelect.tsx'
import { TextField } from '../../../ui/TextField.tsx'
import { seedDomain } from './queries.ts'
import { tagChoices, tagKey } from '../status-page/tag-choices.ts'

/** Lets the user add a domain, and select the tag that it serves. The page then shows the DNS records to set. */
export default function AddDomainDialog({ code, onClose }: { code: string; onClose: () => void }) {
  const squids = useQuery(squidsQuery(code)).data
  const add = useApiMutation('domains.add', {
    invalidates: ['domains.list'],
    seeds: (client, added) => seedDomain(client, code, added),
    errorDisplay: 'caller',
    onSuccess: onClose,
  })
  const tags = tagChoices(squids ?? [], [])
  const options = tags.map((tag) => ({ id: tagKey(tag), label: tagKey(tag) }))
  const isWithoutTags = squids !== undefined && tags.length === 0
  return (
    <LazyDialog title="Add domain" isOpen onClose={onClose}>
      <FormShell
        schema={({ contract, z }) =>
          z.object({ name: contract.domains.add.body.shape.name, target: z.string().min(1, 'Choose a tag.') })
        }
        values={{ name: '', target: '' }}
        onSubmit={({ name, target }) => {
          const [squid = '', tag = ''] = target.split(':')
          add.mutate({ params: { code }, body: { name, squid, tag } })
        }}
        isPending={add.isPending}
        submitError={add.error}
        errorField="name"
        submitLabel="Add domain"
        warnsAboutUnsavedChanges={false}
        disabledReasonOf={() => (isWithoutTags ? 'No squid has a tag yet.' : null)}
        secondary={<Button onClick={onClose}>Cancel</Button>}
      >
        {({ field }) => (
          <>
            <TextField
              label="Domain"
              description="A domain or subdomain whose DNS records you can change."
              placeholder="api.example.com"
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              isMono
              {...field('name')}
            />
            <NativeSelect
              label="Squid and tag"
              description={
                isWithoutTags
                  ? 'No squid has a tag yet. Set one on the page of a version.'
                  : 'The domain serves the version that has the tag, even when you move the tag.'
              }
              placeholder="Choose a tag"
              options={options}
              {...field('target')}
            />
          </>
        )}
      </FormShell>
    </LazyDialog>
  )
}
