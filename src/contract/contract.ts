import { FieldNames, type Resource } from './field-names.ts';
import {
  type FieldValue,
  type NextValue,
  type OperationValue,
  type ParameterValue,
  parseField,
  parseItems,
  parseNext,
  parseOperation,
  parseParameter,
  parseSlash,
  parseValues,
} from './leaf-value.ts';
import {
  type AtLeaf,
  DEFAULTS,
  type FieldLeaf,
  isSpecified,
  LEAF_NAMES,
  type LeafName,
  type ListLeaf,
  type OperationLeaf,
  type ParameterLeaf,
  type ValuesLeaf,
} from './leaves.ts';

/** Where the value of a leaf may come from. */
export const SOURCES = ['spec', 'assumed', 'imported', 'override'] as const;

export type Source = (typeof SOURCES)[number];

/** Values that replace defaults, by leaf. */
export type LeafValues = Readonly<Record<string, string>>;

/** The values of a service that replace the defaults: default < imported < override. */
export interface ContractLayers {
  readonly override?: LeafValues;
  readonly imported?: LeafValues;
}

/** A leaf with its effective value. */
export interface Leaf {
  readonly name: LeafName;
  readonly value: string;
  readonly source: Source;
}

/** The wire format of one service: the value of every leaf (spec §4.7). Immutable. */
export class Contract {
  private readonly layers: ContractLayers;
  private readonly resources = new Map<Resource, FieldNames>();
  private readonly names = new Map<ValuesLeaf, readonly string[]>();

  constructor(layers: ContractLayers = {}) {
    this.layers = layers;
  }

  leaf(name: LeafName): Leaf {
    const [set, read] = [this.layers.override?.[name], this.layers.imported?.[name]];
    if (set !== undefined) return { name, value: set, source: 'override' };
    if (read !== undefined) return { name, value: read, source: 'imported' };
    return { name, value: DEFAULTS[name], source: isSpecified(name) ? 'spec' : 'assumed' };
  }

  /** Returns all leaves in the order of the catalog. */
  leaves(): readonly Leaf[] {
    return LEAF_NAMES.map((name) => this.leaf(name));
  }

  /** Undefined if the service has no such operation. */
  operation(name: OperationLeaf): OperationValue | undefined {
    return parseOperation(this.leaf(name).value);
  }

  /** Undefined if the parameter is not sent. */
  parameter(name: ParameterLeaf): ParameterValue | undefined {
    return parseParameter(this.leaf(name).value);
  }

  /** Undefined if the only list is taken. */
  items(list: ListLeaf): readonly string[] | undefined {
    return parseItems(this.leaf(`${list}.items`).value);
  }

  next(list: ListLeaf): NextValue {
    return parseNext(this.leaf(`${list}.next`).value);
  }

  field(name: FieldLeaf | AtLeaf): FieldValue {
    return parseField(this.leaf(name).value);
  }

  /** Whether a leaf is set or imported for this service. */
  isChosen(name: LeafName): boolean {
    return ['override', 'imported'].includes(this.leaf(name).source);
  }

  /** The names of a resource's fields. */
  namesOf(resource: Resource): FieldNames {
    const names = this.resources.get(resource) ?? new FieldNames(resource, this);
    this.resources.set(resource, names);
    return names;
  }

  /** The values that name one side of a conversation. */
  values(name: ValuesLeaf): readonly string[] {
    const values = this.names.get(name) ?? parseValues(this.leaf(name).value);
    this.names.set(name, values);
    return values;
  }

  slash(): ReturnType<typeof parseSlash> {
    return parseSlash(this.leaf('paths.trailing_slash').value);
  }
}
