"""Molecules for judging, never trained on: drugs of thirty to sixty atoms and all nine elements, and a few small ones.

The drugs are larger than anything in training, which is what they are for. Geometries come from ETKDG and MMFF94.
"""

from firstlight.chem.scf.molecules import Geometry, from_smiles

DRUGS = {
    "ibuprofen": "CC(C)Cc1ccc(cc1)C(C)C(=O)O",
    "naproxen": "COc1ccc2cc(ccc2c1)C(C)C(=O)O",
    "ketoprofen": "CC(C(=O)O)c1cccc(c1)C(=O)c1ccccc1",
    "diclofenac": "OC(=O)Cc1ccccc1Nc1c(Cl)cccc1Cl",
    "carbamazepine": "NC(=O)N1c2ccccc2C=Cc2ccccc12",
    "phenytoin": "O=C1NC(=O)C(N1)(c1ccccc1)c1ccccc1",
    "ganciclovir": "Nc1nc2n(COC(CO)CO)cnc2c(=O)[nH]1",
    "zidovudine": "CC1=CN(C2CC(N=[N+]=[N-])C(CO)O2)C(=O)NC1=O",
    "furosemide": "NS(=O)(=O)c1cc(C(O)=O)c(NCc2ccco2)cc1Cl",
    "tenofovir": "CC(Cn1cnc2c(N)ncnc12)OCP(O)(O)=O",
    "cimetidine": "CNC(=NC#N)NCCSCc1nc[nH]c1C",
    "diazepam": "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc12",
    "fluconazole": "OC(Cn1cncn1)(Cn1cncn1)c1ccc(F)cc1F",
    "bupropion": "CC(NC(C)(C)C)C(=O)c1cccc(Cl)c1",
    "clopidogrel": "COC(=O)C(N1CCc2sccc2C1)c1ccccc1Cl",
    "sertraline": "CNC1CCC(c2ccc(Cl)c(Cl)c2)c2ccccc12",
    "brompheniramine": "CN(C)CCC(c1ccc(Br)cc1)c1ccccn1",
    "chlorpheniramine": "CN(C)CCC(c1ccc(Cl)cc1)c1ccccn1",
    "trimethoprim": "COc1cc(Cc2cnc(N)nc2N)cc(OC)c1OC",
    "lidocaine": "CCN(CC)CC(=O)Nc1c(C)cccc1C",
    "warfarin": "CC(=O)CC(c1ccccc1)C1=C(O)c2ccccc2OC1=O",
    "celecoxib": "Cc1ccc(cc1)-c1cc(nn1-c1ccc(cc1)S(N)(=O)=O)C(F)(F)F",
    "chlorpromazine": "CN(C)CCCN1c2ccccc2Sc2ccc(Cl)cc12",
    "promethazine": "CC(CN1c2ccccc2Sc2ccccc12)N(C)C",
    "diphenhydramine": "CN(C)CCOC(c1ccccc1)c1ccccc1",
    "fluoxetine": "CNCCC(Oc1ccc(cc1)C(F)(F)F)c1ccccc1",
    "propranolol": "CC(C)NCC(O)COc1cccc2ccccc12",
    "atenolol": "CC(C)NCC(O)COc1ccc(CC(N)=O)cc1",
    "ciprofloxacin": "OC(=O)C1=CN(C2CC2)c2cc(N3CCNCC3)c(F)cc2C1=O",
    "penicillin V": "CC1(C)SC2C(NC(=O)COc3ccccc3)C(=O)N2C1C(O)=O",
    "omeprazole": "COc1ccc2[nH]c(nc2c1)S(=O)Cc1ncc(C)c(OC)c1C",
    "ranitidine": "CNC(=C[N+](=O)[O-])NCCSCc1ccc(CN(C)C)o1",
    "metoprolol": "COCCc1ccc(OCC(O)CNC(C)C)cc1",
    "tramadol": "COc1cccc(c1)C1(O)CCCCC1CN(C)C",
    "estradiol": "CC12CCC3c4ccc(O)cc4CCC3C1CCC2O",
    "citalopram": "CN(C)CCCC1(OCc2cc(C#N)ccc12)c1ccc(F)cc1",
    "venlafaxine": "COc1ccc(cc1)C(CN(C)C)C1(O)CCCCC1",
    "testosterone": "CC12CCC3C(CCC4=CC(=O)CCC34C)C1CCC2O",
    "cortisone": "CC12CC(=O)C3C(CCC4=CC(=O)CCC34C)C1CCC2(O)C(=O)CO",
    "enalapril": "CCOC(=O)C(CCc1ccccc1)NC(C)C(=O)N1CCCC1C(O)=O",
}

# For quick runs, paracetamol in place of the drugs.
QUICK = {
    "acetamide": "CC(N)=O",
    "glycolonitrile": "OCC#N",
    "dimethyl sulfide": "CSC",
    "paracetamol": "CC(=O)Nc1ccc(O)cc1",
}
JUDGED = (*DRUGS.values(), *QUICK.values())


def drug_geometries(seed: int = 0) -> list[Geometry]:
    """Return the drugs with one conformer each.

    Parameters
    ----------
    seed : of the conformers.
    """
    return [from_smiles(smiles, name, seed) for name, smiles in DRUGS.items()]
