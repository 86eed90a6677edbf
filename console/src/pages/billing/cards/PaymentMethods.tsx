import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { QueryView } from '../../../components/QueryView.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Card } from '../../../ui/Card.tsx'
import { settingsQuery } from '../queries.ts'
import { CardDialog, CardForm } from './CardForm.tsx'
import { PaymentMethodRow } from './PaymentMethodRow.tsx'

/** Lists the saved payment methods, the default first, or shows the card form if there are none. */
export function PaymentMethods({ code }: { code: string }) {
  const settings = useQuery(settingsQuery(code))
  const [isAdding, setIsAdding] = useState(false)
  const hasMethods = (settings.data?.existing.length ?? 0) > 0
  return (
    <Card
      title="Card details"
      aside={
        hasMethods && (
          <Button size={28} onClick={() => setIsAdding(true)}>
            Add card
          </Button>
        )
      }
    >
      <QueryView query={settings} what="The card details">
        {({ existing }) =>
          existing.length > 0 ? (
            <ul className="divide-y divide-line">
              {existing.map((method, index) => (
                <PaymentMethodRow
                  key={method.id}
                  code={code}
                  method={method}
                  isDefault={index === 0}
                  isOnly={existing.length === 1}
                />
              ))}
            </ul>
          ) : (
            <div className="p-3.5">
              <CardForm code={code} onSaved={() => undefined} />
            </div>
          )
        }
      </QueryView>
      {isAdding && (
        <CardDialog
          title="Add card"
          text="It becomes the default card and will be charged."
          code={code}
          onClose={() => setIsAdding(false)}
        />
      )}
    </Card>
  )
}
