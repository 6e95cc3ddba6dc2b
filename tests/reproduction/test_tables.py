"""Published tables: the papers' full files and the subsets, read as they are; stand-ins of the same shape."""

import gzip

import numpy as np
import pytest

from learning.errors import InputError
from reproduction.item import NotPossible, Setting
from reproduction.second import markets as ours
from reproduction.tables import SOURCES, load_table, sources
from reproduction.timing import banks

QUICK = Setting(quick=True)
LOAN = (  # the header of Kaggle's loan.csv
    "id,member_id,loan_amnt,funded_amnt,funded_amnt_inv,term,int_rate,installment,grade,sub_grade,emp_title,emp_length,"
    "home_ownership,annual_inc,verification_status,issue_d,loan_status,pymnt_plan,url,desc,purpose,title,zip_code,"
    "addr_state,dti,delinq_2yrs,earliest_cr_line,inq_last_6mths,mths_since_last_delinq,mths_since_last_record,open_acc,"
    "pub_rec,revol_bal,revol_util,total_acc,initial_list_status,out_prncp,out_prncp_inv,total_pymnt,total_pymnt_inv,"
    "total_rec_prncp,total_rec_int,total_rec_late_fee,recoveries,collection_recovery_fee,last_pymnt_d,last_pymnt_amnt,"
    "next_pymnt_d,last_credit_pull_d,collections_12_mths_ex_med,mths_since_last_major_derog,policy_code,"
    "application_type,annual_inc_joint,dti_joint,verification_status_joint,acc_now_delinq,tot_coll_amt,tot_cur_bal,"
    "open_acc_6m,open_il_6m,open_il_12m,open_il_24m,mths_since_rcnt_il,total_bal_il,il_util,open_rv_12m,open_rv_24m,"
    "max_bal_bc,all_util,total_rev_hi_lim,inq_fi,total_cu_tl,inq_last_12m"
)
STAYS = (  # of the state's discharges of 2015
    "Health Service Area,Hospital County,Operating Certificate Number,Facility Id,Facility Name,Age Group,"
    "Zip Code - 3 digits,Gender,Race,Ethnicity,Length of Stay,Type of Admission,Patient Disposition,Discharge Year,"
    "CCS Diagnosis Code,CCS Diagnosis Description,CCS Procedure Code,CCS Procedure Description,APR DRG Code,"
    "APR DRG Description,APR MDC Code,APR MDC Description,APR Severity of Illness Code,"
    "APR Severity of Illness Description,APR Risk of Mortality,APR Medical Surgical Description,Payment Typology 1,"
    "Payment Typology 2,Payment Typology 3,Attending Provider License Number,Operating Provider License Number,"
    "Other Provider License Number,Birth Weight,Abortion Edit Indicator,Emergency Department Indicator,Total Charges,"
    "Total Costs"
)


def write(path, header, rows, sep=","):
    """A table of rows, each given as some of its cells by column; the others hold a number of the row."""
    names = header.split(",")
    lines = [sep.join(names)] if path.suffix != ".data" else []
    lines += [
        sep.join(str(row.get(name, place % 7)) for name in names) for place, row in enumerate(rows)
    ]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def small(monkeypatch):
    """Rules for tables of a few rows."""
    monkeypatch.setattr(sources, "LOANS_PUBLIC", 20)
    monkeypatch.setattr(sources, "CARD_PUBLIC", 20)
    monkeypatch.setattr(sources, "BALANCED_PUBLIC", 8)
    monkeypatch.setattr(sources, "STAYS_PUBLIC", 30)
    monkeypatch.setattr(sources, "LARGE", 40)


@pytest.mark.parametrize("percent", ["", "%"])
def test_the_full_loan_book_is_read_with_rates_as_numbers_or_percent(small, tmp_path, percent):
    """Rates count from their mean in the last 20 rows, which are nobody's; a loan without a rate is left out."""
    rows = [
        {
            "int_rate": f"{5 + place % 11}.5{percent}" if place else "",
            "grade": "ABC"[place % 3],
            "term": " 36 months",
            "emp_length": "10+ years" if place % 2 else "n/a",
            "revol_util": f"{place % 90}.1{percent}" if place % 5 else "",
            "desc": '"free, text"',
            **{
                name: (place * k) % 13
                for k, name in enumerate(("loan_amnt", "dti", "open_acc", "total_acc"), 3)
            },
            **{
                name: (place * k) % 17
                for k, name in enumerate(("annual_inc", "delinq_2yrs", "pub_rec", "revol_bal"), 4)
            },
        }
        for place in range(120)
    ]
    write(tmp_path / "loan.csv", LOAN, rows)
    loans = load_table("lending", Setting(data=tmp_path))
    rates = np.array([5.5 + place % 11 for place in range(1, 120)])
    centre = rates[-20:].mean()
    assert loans.x.shape == (99, 10) and len(loans.public_y) == 20 and not loans.stand_in
    assert loans.y == pytest.approx(
        np.clip(rates[:-20], rates[-20:].min(), rates[-20:].max()) - centre
    )
    assert loans.public_y.mean() == pytest.approx(0, abs=1e-12)


def test_all_card_payments_are_read_in_the_files_order(small, tmp_path):
    """Class 1 is +1; the constant stands last; features lie within the public range, [-1, 1]."""
    columns = ["Time", *sources.COMPONENTS, "Amount", "Class"]
    rng = np.random.default_rng(1)
    rows = [
        {**{name: rng.normal() for name in columns[1:-1]}, "Class": f'"{int(place % 10 == 3)}"'}
        for place in range(100)
    ]
    write(tmp_path / "creditcard.csv", ",".join(columns), rows)
    payments = load_table("fraud", Setting(data=tmp_path))
    assert (
        payments.x.shape == (80, 30)
        and np.all(payments.x[:, -1] == 1)
        and np.abs(payments.x).max() <= 1
    )
    assert np.flatnonzero(payments.y > 0).tolist() == list(range(3, 80, 10))
    balanced = load_table("balanced_fraud", Setting(data=tmp_path))
    assert balanced.n_records + len(balanced.public_y) == 20


def test_hospitals_of_the_whole_file_take_part_if_they_are_large_before_the_public_rows(
    small, tmp_path
):
    """Stays of "120 +" days count as 120; hospital C has too few, and D enough only with the last rows."""
    who = ["A"] * 60 + ["C"] * 20 + ["B"] * 45 + ["D"] * 35 + ["D"] * 30
    rng = np.random.default_rng(2)
    rows = [
        {
            "Facility Name": name,
            "Length of Stay": "120 +" if place == 0 or place == 189 else 1 + place % 9,
            "Total Charges": '"$1,234.50"',
            "Gender": rng.choice(["F", "M", "U"]),
            **{
                name: rng.integers(9)
                for name in STAYS.split(",")
                if "Code" in name or "Payment" in name
            },
            **{
                name: f"kind {rng.integers(4)}"
                for name in ("Age Group", "Race", "Ethnicity", "Type of Admission")
            },
            "APR Severity of Illness Description": rng.choice(["Minor", "Major"]),
            "APR Risk of Mortality": rng.choice(["Minor", "Major"]),
        }
        for place, name in enumerate(who)
    ]
    write(tmp_path / "Hospital_Inpatient_Discharges__SPARCS_De-Identified___2015.csv", STAYS, rows)
    stays = load_table("hospitals", Setting(data=tmp_path))
    assert stays.owner_names == ("A", "B") and [len(y) for _, y in stays.of_owners()] == [60, 45]
    assert len(stays.public_y) == 30 and stays.x.shape[1] == 10
    assert stays.y[0] - stays.y[1] == pytest.approx(120 - 2)


def test_files_without_a_header_or_with_semicolons_are_read_as_their_publishers_have_them(tmp_path):
    """adult.data and adult.test, bank-additional-full.csv, kddcup.data_10_percent.gz and the tumours, a few rows each."""
    people = [
        f"{20 + place}, Private, {place * 7}, HS-grad, 9, Divorced, Sales, Wife, White, Male, {place}, 0, {30 + place % 9}, "
        + ("?" if place == 4 else "Cuba, " if place % 2 else "Japan, ").rstrip(", ")
        + f", {'>50K' if place % 3 else '<=50K'}"
        for place in range(40)
    ]
    (tmp_path / "adult.data").write_text("\n".join(people) + "\n\n")
    (tmp_path / "adult.test").write_text(
        "|1x3 Cross validator\n" + "\n".join(f"{line}." for line in people) + "\n"
    )
    adult = load_table("adult", Setting(data=tmp_path))
    assert (
        adult.n_records + len(adult.public_y) == 78
    )  # two of 80 have a question mark, both of people who earn much
    assert np.mean([*adult.y, *adult.public_y] == np.array(1.0)) == pytest.approx(50 / 78)

    bank = '"age";"job";"duration";"y"\n' + "".join(
        f'{20 + place % 50};"job {place % 4}";{place * 3};"{"yes" if place % 5 == 0 else "no"}"\n'
        for place in range(60)
    )
    (tmp_path / "bank-additional-full.csv").write_text(bank)
    calls = load_table("bank", Setting(data=tmp_path))
    assert calls.x.shape[1] == 4 and np.isclose(calls.x[:, :-1].std(), 1, atol=0.2)

    links = "".join(
        f"0,{'tcp' if place % 2 else 'udp'},http,SF,{place},{place * 5 % 7},{','.join(['0'] * 17)},{place % 11},"
        + ",".join(["0.00"] * 17)
        + f",{'normal.' if place % 3 else 'smurf.'}\n"
        for place in range(60)
    )
    (tmp_path / "kddcup.data_10_percent.gz").write_bytes(gzip.compress(links.encode()))
    kdd = load_table("kdd", Setting(data=tmp_path))
    assert kdd.n_records == 54 and np.sum(kdd.y > 0) + np.sum(kdd.public_y > 0) == 20

    tumours = "".join(
        f"{1000 + p},{p % 9},1,{p % 3},1,2,{'?' if p == 7 else p % 5},3,1,{p % 2},{2 + 2 * (p % 3 == 0)}\n"
        for p in range(50)
    )
    (tmp_path / "breast-cancer-wisconsin.data").write_text(tumours)
    cancer = load_table("cancer", Setting(data=tmp_path))
    assert cancer.n_records + len(cancer.public_y) == 50 and np.isfinite(cancer.x).all()


@pytest.mark.parametrize("name", SOURCES)
def test_stand_ins_have_the_shape_of_their_table(name):
    """Nobody takes them for data; nothing missing, features within their bounds, no constant column but the last."""
    made = load_table(name, QUICK)
    assert made.stand_in and made.says.startswith("STAND-IN: ")
    assert np.isfinite(made.x).all() and np.all(np.abs(made.x) <= made.feature_bound + 1e-12)
    assert np.abs(made.y).max() <= made.target_bound + 1e-12
    assert np.linalg.matrix_rank(made.x) == made.x.shape[1] == len(made.feature_bound)
    assert set(made.y) == {-1.0, 1.0} or abs(made.public_y.mean()) < 1e-9
    with pytest.raises(ValueError, match="read-only"):
        made.x[0] = 0


def test_generated_hospitals_are_unlike_each_other_and_generated_loans_are_not():
    """Between owners' mean targets lies far more than chance puts there; it is the same table each time."""

    def spread(records):
        """Variance between means over what chance gives them."""
        chance = np.mean([y.var() / len(y) for _, y in records])
        return np.var([y.mean() for _, y in records]) / chance

    stays = load_table("hospitals", QUICK)
    loans = load_table("lending", QUICK)
    assert spread(stays.of_owners()) > 10 > 3 > spread(loans.slices([1000] * 50))
    assert load_table("hospitals", QUICK) is stays
    assert np.sum(loans.y > 0) / loans.n_records == pytest.approx(0.5, abs=0.05)
    assert np.mean(load_table("fraud", QUICK).y > 0) == pytest.approx(0.00172, abs=0.0003)


def test_slices_are_consecutive_and_too_many_records_are_not_possible():
    """Owners hold the first rows, one after another."""
    loans = load_table("lending", QUICK)
    (first, _), (second, y) = loans.slices([100, 50])
    assert np.array_equal(np.vstack([first, second]), loans.x[:150]) and np.array_equal(
        y, loans.y[100:150]
    )
    with pytest.raises(
        NotPossible, match="130,000 records are needed, and lending has 120,000 here"
    ):
        loans.slices([130_000])


def test_a_table_that_is_not_there_is_not_possible_and_a_broken_one_is_said_in_a_line(tmp_path):
    """The reason names the file; a file without the target is an input error."""
    with pytest.raises(NotPossible, match=r"bank-additional-full\.csv is not in"):
        load_table("bank", Setting(data=tmp_path))
    (tmp_path / "loan.csv").write_text("id,amount\n1,2\n")
    with pytest.raises(InputError, match=r"loan\.csv: must have rows and a column 'int rate'"):
        load_table("lending", Setting(data=tmp_path))


KDD = "0,tcp,http,SF,9,5,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,8,8,0,0,0,0,1,0,0,9,9,1,0,0,0,0,0,0,0,"
CARDS = "Time," + ",".join(f"V{place}" for place in range(1, 29)) + ",Amount,Class\n"
TUMOUR = "1,5,1,1,1,2,1,3,1,1,"


@pytest.mark.parametrize(
    ("name", "file", "text", "said"),
    [
        (
            "cancer",
            "breast-cancer-wisconsin.data",
            TUMOUR + "benign\n",
            "labels 2 and 4 only; found benign",
        ),
        ("cancer", "breast-cancer-wisconsin.data", f"{TUMOUR}2\n{TUMOUR}?\n", "found nothing"),
        (
            "kdd",
            "kddcup.data_10_percent",
            f"{KDD}0\n" * 20,
            "kddcup.data_10_percent in .*both values",
        ),
        ("kdd", "kddcup.data_10_percent", f"{KDD}normal.,0\n" * 20, "must be a table as published"),
        ("fraud", "creditcard.csv", CARDS + "1," * 30 + "ok\n", "labels 0 and 1 only; found ok"),
        ("fraud", "creditcard.csv", CARDS.replace("V3,", "") + "1," * 29 + "0\n", "a column 'v3'"),
        (
            "hospitals",
            "Hospital_Inpatient_Discharges_2015.csv",
            "Length of Stay\n3\n",
            "a column 'facility id'",
        ),
    ],
)
def test_a_file_at_fault_is_named_in_a_line(tmp_path, name, file, text, said):
    """An unknown label, a missing column, rows longer than their header: none is taken for something else."""
    (tmp_path / file).write_text(text)
    with pytest.raises(InputError, match=said) as fault:
        load_table(name, Setting(data=tmp_path))
    assert "\n" not in str(fault.value) and "data." not in str(fault.value).replace(file, "")


def test_rows_longer_than_their_header_do_not_move_their_columns(small, tmp_path):
    """As an edition with a comma at the end of each row has them."""
    rows = "".join(f"{place}," + "1," * 28 + f"{place},{place % 2},\n" for place in range(60))
    (tmp_path / "creditcard.csv").write_text(CARDS + rows)
    payments = load_table("fraud", Setting(data=tmp_path))
    assert payments.y[:4].tolist() == [-1, 1, -1, 1]


@pytest.mark.parametrize(
    ("name", "file", "text"),
    [
        ("fraud", "creditcard.csv", CARDS + ("1," * 30 + "0\n") * 9),
        ("balanced_fraud", "creditcard.csv", CARDS + ("1," * 30 + "1\n") * 9),
        ("cancer", "breast-cancer-wisconsin.data", TUMOUR + "2\n"),
    ],
)
def test_too_few_rows_are_not_possible(tmp_path, name, file, text):
    (tmp_path / file).write_text(text)
    with pytest.raises(NotPossible, match="no record|as many other payments"):
        load_table(name, Setting(data=tmp_path))


@pytest.mark.parametrize(
    ("module", "grid"),
    [(ours, lambda at: ours.compute_grid(ours.LENDING, at)), (banks, banks.compute_grid)],
)
def test_tables_too_small_for_a_grid_of_sizes_are_not_possible(monkeypatch, tmp_path, module, grid):
    monkeypatch.setattr(ours.Setup, "largest_size", lambda *of: 600)
    monkeypatch.setattr(banks, "largest_size", lambda setting: 600)
    monkeypatch.setattr(banks, "load_table", lambda *of: None)
    monkeypatch.setattr(banks, "in_random_order", lambda *of: None)
    with pytest.raises(NotPossible, match="more than 600"):
        grid(Setting(data=tmp_path, quick=True))
